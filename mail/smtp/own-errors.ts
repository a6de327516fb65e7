/** Errors of this machine that have nothing to do with the address that is dialled. */
export const SHORTAGES: ReadonlySet<string> = new Set([
  ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'],
  ...['EADDRINUSE', 'EADDRNOTAVAIL'],
])

/** Errors of a connection that no packet of another machine can cause. */
export const OUR_ERRORS: ReadonlySet<string> = new Set([...SHORTAGES, 'ENETDOWN', 'EPERM'])
