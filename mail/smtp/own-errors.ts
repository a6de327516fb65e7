/** Errors of this machine that have nothing to do with the address that is dialled. */
export const SHORTAGES: ReadonlySet<string> = new Set([
  ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'],
  ...['EADDRINUSE', 'EADDRNOTAVAIL'],
])

/** Errors of a connection that no packet of another machine can cause. */
const OUR_ERRORS = new Set([...SHORTAGES, 'ENETDOWN', 'EPERM'])

/** Who ended a connection that has this error. */
export const endedBy = (code: string): 'local' | 'closed' => (OUR_ERRORS.has(code) ? 'local' : 'closed')
