import { constants } from 'node:os'

/** Errors of this machine that have nothing to do with the address that is dialled. */
export const SHORTAGES: ReadonlySet<string> = new Set([
  ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'],
  ...['EADDRINUSE', 'EADDRNOTAVAIL'],
])

/**
 * Errors of a connection that packets of another machine cause: a reset, silence, and the messages of ICMP and ICMPv6
 * (`icmp_err_convert` of Linux). This machine alone causes all others.
 */
const BY_PACKETS = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'],
  ...[
    'ENETUNREACH',
    'EHOSTUNREACH',
    'EHOSTDOWN',
    'ENONET',
    'ENOPROTOOPT',
    'EMSGSIZE',
    'EOPNOTSUPP',
    'EACCES',
    'EPROTO',
  ],
])

/** Who ended a connection that has this error. Codes of TLS are no errors of the system. */
export const endedBy = (code: string): 'local' | 'closed' =>
  Object.hasOwn(constants.errno, code) && !BY_PACKETS.has(code) ? 'local' : 'closed'

/** Whether a certificate has a flaw that a clock finds, in the codes of Node. */
export const isDateFlaw = (code: string): boolean => code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID'

const MAX_CLOCK_ERROR_MS = 3_600_000

/** @param errorMs how far this machine's clock is from the true time, as far as that is known */
export const isClockWrong = (errorMs: number): boolean => Math.abs(errorMs) > MAX_CLOCK_ERROR_MS
