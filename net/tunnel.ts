import { type ClientRequest, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIPv6, type Socket } from 'node:net'

type Open = (addresses: readonly string[], port: number, signal: AbortSignal) => Promise<Socket | undefined>

/** Tunnels through an HTTP proxy (RFC 9110 9.3.6) to an address, not to a name: the proxy dials the vetted address. */
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

function openSocket(request: ClientRequest, signal: AbortSignal): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const end = (socket?: Socket) => {
      signal.removeEventListener('abort', fail)
      resolve(socket)
    }
    const fail = () => {
      request.destroy()
      end()
    }
    request.on('error', fail)
    request.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
      socket.on('error', () => {})
      if (statusCode >= 200 && statusCode < 300 && head.length === 0) return end(socket.setNoDelay(true))
      socket.destroy()
      end()
    })
    signal.addEventListener('abort', fail)
    if (signal.aborted) return fail()
    request.end()
  })
}
