/** Of the command line `temporal`, which brings server and UI. That of dev/temporal/go.mod. */
export const TEMPORAL_VERSION = '1.8.2'
