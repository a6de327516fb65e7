import { isIP } from 'node:net'
import { remember } from '../remember.ts'
import { createGuard, type Guard, withinSubnets } from './guard.ts'

/** Where a URL leads, as far as its text says. */
export interface Destination {
  protocol: 'http:' | 'https:'
  /** An IP address without brackets, or a name in lower case and A-labels without a final dot. */
  host: string
  port: number
  /** As the Host header wants it, with the scheme. */
  origin: string
  /** With the query. */
  path: string
  /** Known without a look-up: of a literal and of localhost. */
  addresses?: readonly string[]
  /** Every address of the host has to pass, and only those that passed are dialled. */
  mayDial: Guard
}

export interface UrlGuard {
  /** Words that follow "url", such as "must begin with https://"; undefined when its text has no fault. */
  faultOf(url: string): string | undefined
  /** undefined when the text has a fault. */
  destinationOf(url: string): Destination | undefined
}

const MAX_URL_CHARACTERS = 2_048
const NAMES_HOST = 'must name a host of the public internet, such as https://hooks.example.com/verdict'
const PUBLIC = 'must lead to a public address'

/** What the text has to match, before the URL standard repairs it: it drops newlines and reads `https:\\host` as a URL. */
const TEXT: [rule: RegExp, fault: string][] = [
  [/^.{0,2048}$/su, `must have at most ${MAX_URL_CHARACTERS} characters`],
  [/^[^\u0000-\u0020\u007f-\u00a0\\]*$/u, 'must not contain spaces, control characters or backslashes'],
  [/^https?:/iu, 'must begin with https://'],
  [/^https?:\/\/[^/?#]/iu, NAMES_HOST],
  [/^[^#]*$/u, 'must not have a fragment (#...)'],
  [/^https?:\/\/[^@/?]*([/?]|$)/iu, 'must not contain a user name or password'],
]

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const LOCALHOST = /(^|\.)localhost$/
const LOOPBACK = ['127.0.0.1', '::1']
/** No public name ends like this: IANA's special-use domain names, .internal, and names without a dot. */
const NOT_PUBLIC = /^[^.]+$|\.(alt|arpa|example|internal|invalid|local|onion|test)$/

const DEFAULT_PORTS = { 'http:': 80, 'https:': 443 }
const PORTS = [443, 8443]

/**
 * https on port 443 or 8443 and public addresses only. Inside `allowSubnets` (CIDR) also http, any port and private addresses: what
 * needs that may be dialled nowhere else. A name says nothing before its look-up: `mayDial` judges what came out of it.
 */
export function createUrlGuard({ allowSubnets }: { allowSubnets: readonly string[] }): UrlGuard {
  const everywhere = createGuard({ allowSubnets })
  const onlyInside = withinSubnets(allowSubnets)
  const isClosed = allowSubnets.length === 0

  function vet(text: string): Destination | string {
    const fault = TEXT.find(([rule]) => !rule.test(text))?.[1]
    if (fault !== undefined) return fault
    const url = URL.parse(text)
    if (url === null) return NAMES_HOST
    const protocol = url.protocol as Destination['protocol']
    const port = url.port === '' ? DEFAULT_PORTS[protocol] : Number(url.port)
    const needsRange = faultOutside(protocol, port)
    if (needsRange !== undefined && isClosed) return needsRange
    const mayDial = needsRange === undefined ? everywhere : onlyInside
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
    const addresses = knownAddresses(host)?.filter(mayDial)
    if (addresses?.length === 0) return needsRange ?? PUBLIC
    if (addresses === undefined && (!HOST_NAME.test(host) || (isClosed && NOT_PUBLIC.test(host)))) return NAMES_HOST
    return { protocol, host, port, origin: url.origin, path: `${url.pathname}${url.search}`, addresses, mayDial }
  }

  return {
    faultOf(url) {
      const vetted = vet(url)
      return typeof vetted === 'string' ? vetted : undefined
    },
    // Of what is posted to: its text says the same at every POST. Where its name leads is another question.
    destinationOf: remember((url) => {
      const vetted = vet(url)
      return typeof vetted === 'string' ? undefined : vetted
    }),
  }
}

function faultOutside(protocol: Destination['protocol'], port: number): string | undefined {
  if (protocol === 'http:') return 'must begin with https://'
  return PORTS.includes(port) ? undefined : 'must use port 443 (or none) or 8443'
}

/** A name under localhost is loopback, whatever a resolver says (RFC 6761 6.3). */
function knownAddresses(host: string): readonly string[] | undefined {
  if (isIP(host) !== 0) return [host]
  return LOCALHOST.test(host) ? LOOPBACK : undefined
}
