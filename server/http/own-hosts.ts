import { isIP } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { fail } from '../errors.ts'
import type { Call } from './call.ts'

// The dashboard is served under names of this installation only. With DNS rebinding, a page of a stranger's name gets
// that name to resolve to this server, and then counts as a page of ours (docs/adr/0200-own-hosts.md).

/** A host that a request names: `name`, `name:port` or `[address]:port`. */
interface NamedHost {
  /** In lower case, without brackets and the final dot. */
  name: string
  /** Without the default port. */
  port: string
  isAddress: boolean
}

/** RFC 9110 7.2: a host without userinfo, and a port. */
const HOST = /^(?:\[([\da-f:.]+)\]|([^\s:@/?#\\[\]]+))(?::(\d*))?$/i
/** RFC 9112 3.2.2. The router reads this form, too. */
const ABSOLUTE_FORM = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i
/** As much of a Host as its refusal repeats. */
const SHOWN = 100

/**
 * Returns a check that throws `wrong_host` for a call to the dashboard under a host that is not ours. `names` are the
 * hosts beside addresses and localhost: `name` for all ports, or `name:port`. It is called when the server listens.
 */
export function createHostCheck(names: () => readonly string[]): (call: Call) => void {
  function isOwn(text: string): boolean {
    const host = parseHost(text)
    if (!host) return false
    const { name, port, isAddress } = host
    return (
      isAddress || /(^|\.)localhost$/.test(name) || names().some((own) => own === name || own === `${name}:${port}`)
    )
  }
  return (call) => {
    const named = hostsOf(call)
    const wrong = named.find((text) => !isOwn(text))
    if (wrong === undefined && named.length > 0) return
    const shown = wrong === undefined ? 'no host' : `the host ${JSON.stringify(wrong.slice(0, SHOWN))}`
    throw fail(
      'wrong_host',
      `The request names ${shown}. The dashboard answers to the host of PUBLIC_URL, to IP addresses, to localhost and ` +
        'to the hosts in ALLOWED_HOSTS. Open it at PUBLIC_URL, or add the host to ALLOWED_HOSTS. A proxy must pass on ' +
        'the Host header of its caller.',
    )
  }
}

/** Checks the host of every request to the routes that are registered on an instance after this call. */
export function refuseOtherHosts(fastify: FastifyInstance, checkHost: (call: Call) => void): void {
  fastify.addHook('onRequest', async ({ call, routeOptions }) => {
    call.path = routeOptions.url
    checkHost(call)
  })
}

/** Whether an Origin header is that of the page's own server: the host and the port that the call names. */
export function isSameOrigin(origin: string | undefined, call: Call): boolean {
  const host = origin !== undefined && URL.canParse(origin) && new URL(origin).host
  return typeof host === 'string' && host !== '' && hostsOf(call).every((named) => named.toLowerCase() === host)
}

/** Every host that a request names: they may differ, and a proxy may have read another one than we do. */
function hostsOf({ raw }: Call): string[] {
  const { host, ':authority': authority } = raw.headers
  const target = ABSOLUTE_FORM.exec(raw.url ?? '')?.[1]
  return [host, authority, target].filter((named) => typeof named === 'string')
}

function parseHost(text: string): NamedHost | undefined {
  const [, address, name = '', port = ''] = HOST.exec(text) ?? []
  if (address !== undefined) return isIP(address) === 6 ? { name: address, port, isAddress: true } : undefined
  // A name with all its dots is the same name.
  const bare = name.toLowerCase().replace(/(?<=.)\.$/, '')
  return bare === '' ? undefined : { name: bare, port, isAddress: isIP(bare) === 4 }
}
