/** The version of the program `temporal`, which includes server and UI; the same as in dev/temporal/go.mod. */
export const TEMPORAL_VERSION = '1.8.2'
/** The version of the server in it, and of the programs of a cluster. */
export const SERVER_VERSION = '1.31.2'
