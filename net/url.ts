import { isIP } from 'node:net'
import { unfitCharacter } from './clean-text.ts'
import { createGuard, type Guard, withinSubnets } from './guard.ts'
import { memoize } from './memoize.ts'

/** The destination of a URL, as far as its text tells. */
export interface Destination {
  protocol: 'http:' | 'https:'
  /** An IP address without brackets, or a name in lower case and A-labels without a final dot. */
  host: string
  port: number
  /** The scheme, and host and port in the form of the Host header. */
  origin: string
  /** The path with the query. */
  path: string
  /** The addresses of a literal or of localhost, which need no look-up. */
  addresses?: readonly string[]
  /** Every address of the host must pass, and only those that passed are dialled. */
  mayDial: Guard
}

export interface UrlGuard {
  /** The fault, as the words after "url", such as "must begin with https://"; undefined when the text has none. */
  faultOf(url: string): string | undefined
  /** Returns undefined when the text has a fault. */
  destinationOf(url: string): Destination | undefined
}

const MAX_URL_CHARACTERS = 2_048
const NAMES_HOST = 'must name a host of the public internet, such as https://hooks.example.com/verdict'
const PUBLIC = 'must lead to a public address'

/** Rules for the text before the URL standard repairs it: the standard drops newlines and accepts `https:\\host`. */
const TEXT: [rule: RegExp, fault: string][] = [
  [/^.{0,2048}$/su, `must have at most ${MAX_URL_CHARACTERS} characters`],
  [/^[^\u0000-\u0020\u007f-\u00a0\\]*$/u, 'must not contain spaces, control characters or backslashes'],
  [/^https?:/iu, 'must begin with https://'],
  [/^https?:\/\/[^/?#]/iu, NAMES_HOST],
  [/^[^#]*$/u, 'must not have a fragment (#...)'],
  [/^https?:\/\/[^@/?]*([/?]|$)/iu, 'must not contain a user name or password'],
]

/** A URL as far as its host, and its port. */
const PORT = /^([^/]*\/\/(?:\[[^\]]*\]|[^/?:]*)):[^/?]*/
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const LOCALHOST = /(^|\.)localhost$/
const LOOPBACK = ['127.0.0.1', '::1']
/** The ends of names that are never public: IANA's special-use domain names and .internal; also names without a dot. */
const NOT_PUBLIC = /^[^.]+$|\.(alt|arpa|example|internal|invalid|local|onion|test)$/

const DEFAULT_PORTS = { 'http:': 80, 'https:': 443 }
const PORTS = [443, 8443]
const OTHER_PORT = 'must use port 443 (or none) or 8443'

/**
 * Permits https on port 443 or 8443 to public addresses. Inside `allowSubnets` (CIDR) it also permits http, any port
 * and private addresses; a URL that needs this may be dialled nowhere else. A name proves nothing before its look-up:
 * `mayDial` judges the result of the look-up.
 */
export function createUrlGuard({ allowSubnets }: { allowSubnets: readonly string[] }): UrlGuard {
  const everywhere = createGuard({ allowSubnets })
  const onlyInside = withinSubnets(allowSubnets)
  const isClosed = allowSubnets.length === 0
  const portFault = isClosed ? OTHER_PORT : 'must have a port from 1 to 65535'

  function vet(text: string): Destination | string {
    const fault = TEXT.find(([rule]) => !rule.test(text))?.[1]
    if (fault !== undefined) return fault
    const url = URL.parse(text)
    if (url === null) return URL.canParse(text.replace(PORT, '$1')) ? portFault : NAMES_HOST
    const protocol = url.protocol as Destination['protocol']
    const port = url.port === '' ? DEFAULT_PORTS[protocol] : Number(url.port)
    const faultElsewhere = faultOutside(protocol, port)
    if (faultElsewhere !== undefined && isClosed) return faultElsewhere
    const mayDial = faultElsewhere === undefined ? everywhere : onlyInside
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
    const addresses = addressesWithoutLookup(host)?.filter(mayDial)
    if (addresses?.length === 0) return faultElsewhere ?? PUBLIC
    if (addresses === undefined && (!HOST_NAME.test(host) || (isClosed && NOT_PUBLIC.test(host)))) return NAMES_HOST
    return { protocol, host, port, origin: url.origin, path: `${url.pathname}${url.search}`, addresses, mayDial }
  }

  return {
    faultOf(url) {
      const result = vet(url)
      return typeof result === 'string' ? result : unfitCharacter(url)
    },
    // The text of an endpoint's URL means the same at every POST, so its destination is remembered. Its look-up is not.
    destinationOf: memoize((url) => {
      const result = vet(url)
      return typeof result === 'string' ? undefined : result
    }),
  }
}

function faultOutside(protocol: Destination['protocol'], port: number): string | undefined {
  if (protocol === 'http:') return 'must begin with https://'
  return PORTS.includes(port) ? undefined : OTHER_PORT
}

/** The addresses of a literal, and of a name under localhost: loopback, whatever a resolver says (RFC 6761 6.3). */
function addressesWithoutLookup(host: string): readonly string[] | undefined {
  if (isIP(host) !== 0) return [host]
  return LOCALHOST.test(host) ? LOOPBACK : undefined
}
