import { type ClientRequest, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIPv6, type Socket } from 'node:net'

/** What opens a connection to one of the addresses. `local`: a fault of ours, which proves nothing about them. */
export type Open = (
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
  onFault: (code: string | undefined) => void,
) => Promise<Socket | 'local' | undefined>

/**
 * Tunnels through an HTTP proxy (RFC 9110 9.3.6) to an address, not to a name: the proxy dials the vetted address. A
 * proxy that is not reached, or does not know us, is a fault of ours.
 */
export function openTunnel(proxy: URL): Open {
  const request = proxy.protocol === 'https:' ? requestHttps : requestHttp
  const { hostname, port, username, password } = proxy
  const auth = username === '' ? undefined : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authorization = auth && { 'proxy-authorization': `Basic ${Buffer.from(auth).toString('base64')}` }

  return ([address = ''], targetPort, signal) => {
    const authority = `${isIPv6(address) ? `[${address}]` : address}:${targetPort}`
    const headers = { host: authority, ...authorization }
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    return openSocket(request({ host, port, method: 'CONNECT', path: authority, headers, agent: false }), signal)
  }
}

const UNKNOWN_TO_PROXY = 407

function openSocket(request: ClientRequest, signal: AbortSignal): ReturnType<Open> {
  return new Promise((resolve) => {
    let isReached = false
    const end = (socket?: Socket | 'local') => {
      signal.removeEventListener('abort', fail)
      resolve(socket)
    }
    const fail = () => {
      request.destroy()
      end(isReached ? undefined : 'local')
    }
    request.on('finish', () => {
      isReached = true
    })
    request.on('error', fail)
    request.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
      socket.on('error', () => {})
      if (statusCode >= 200 && statusCode < 300 && head.length === 0) return end(socket.setNoDelay(true))
      socket.destroy()
      end(statusCode === UNKNOWN_TO_PROXY ? 'local' : undefined)
    })
    signal.addEventListener('abort', fail)
    if (signal.aborted) return fail()
    request.end()
  })
}
