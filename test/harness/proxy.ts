import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { takes } from './waits.ts'

/** `up` is from the client to the server. */
export type Direction = 'up' | 'down'

/** The bytes of one socket read. As a rule, bytes written together arrive together. */
export interface WireMessage {
  direction: Direction
  /** The number of the connection in this proxy, from 1. */
  connection: number
  /** The number of the message in this proxy, over both directions, from 1. */
  n: number
  bytes: Buffer
}

/** What the proxy does with a message. Every act except `pass` is a network fault. */
export type Act =
  | 'pass'
  /** Loses the message. Later messages pass. */
  | 'drop'
  /** Sends RST to both sides. */
  | 'reset'
  /** Passes the message on and then ends this direction with FIN. */
  | 'half_close'
  /** From here on nothing passes in either direction, not even a close, as with a peer that vanished. */
  | 'hang'
  /** This long after it arrived. */
  | { afterMs: number; act: Act }
  /** Passes only the first bytes of the message. */
  | { bytes: number; act: 'reset' | 'hang' }

export interface Target {
  host: string
  port: number
}

export interface TcpProxy {
  port: number
  /** Where new connections go. While it is undefined, the proxy resets them. */
  target: Target | undefined
  /** Is called for every message before the proxy acts on it. `undefined` means `pass`. */
  onMessage: (message: WireMessage) => Act | undefined
  /** The number of messages so far, over both directions. */
  count: number
  /** The local ports of the connections to the target, by which the target identifies them. */
  ports: number[]
  /** Resets every open connection. */
  reset(): void
  close(): Promise<void>
}

/** Starts a TCP proxy on loopback that injects network faults. */
export async function startProxy(target?: Target): Promise<TcpProxy> {
  const pairs = new Set<{ reset(): void }>()
  let connections = 0
  const proxy: TcpProxy = { port: 0, target, onMessage: () => undefined, count: 0, ports: [], reset, close }
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    client.on('error', () => {})
    if (!proxy.target) return void client.resetAndDestroy()
    const upstream = connect({ ...proxy.target, noDelay: true, allowHalfOpen: true })
    upstream.once('connect', () => proxy.ports.push(upstream.localPort!))
    const pair = join(client, upstream, proxy, ++connections)
    pairs.add(pair)
    const forget = () => client.closed && upstream.closed && pairs.delete(pair)
    client.once('close', forget)
    upstream.once('close', forget)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy.port = (server.address() as AddressInfo).port

  function reset(): void {
    for (const pair of pairs) pair.reset()
  }

  async function close(): Promise<void> {
    reset()
    await new Promise((resolve) => server.close(resolve))
  }
  return proxy
}

function join(client: Socket, upstream: Socket, proxy: TcpProxy, connection: number): { reset(): void } {
  let hangs = false
  carry('up', client, upstream)
  carry('down', upstream, client)

  function reset(): void {
    client.resetAndDestroy()
    upstream.resetAndDestroy()
  }

  /** Carries one direction. Messages stay in order, even when one is delayed. */
  function carry(direction: Direction, from: Socket, to: Socket): void {
    let queue: Promise<void> | undefined
    const inOrder = (step: () => Promise<void> | void) => {
      const next = queue ? queue.then(step) : step()
      const last = next?.then(() => {
        if (queue === last) queue = undefined
      })
      queue = last
    }
    from.on('data', (bytes: Buffer) => {
      const act = proxy.onMessage({ direction, connection, n: ++proxy.count, bytes }) ?? 'pass'
      const arrivedMs = performance.now()
      inOrder(() => perform(act, bytes, arrivedMs))
    })
    from.on('end', () => inOrder(() => void (hangs || to.end())))
    from.on('error', () => inOrder(() => void (hangs || to.resetAndDestroy())))
    from.on('close', () => inOrder(() => void (hangs || to.destroySoon())))

    function perform(act: Act, bytes: Buffer, arrivedMs: number): Promise<void> | void {
      if (hangs) return
      if (act === 'reset') return reset()
      if (act === 'hang') hangs = true
      if (act === 'drop' || act === 'hang') return
      if (typeof act === 'object' && 'bytes' in act) {
        to.write(bytes.subarray(0, act.bytes), () => perform(act.act, bytes, arrivedMs))
        return
      }
      if (typeof act === 'object') {
        const remainingMs = Math.max(0, arrivedMs + act.afterMs - performance.now())
        return takes(remainingMs).then(() => perform(act.act, bytes, arrivedMs))
      }
      if (!to.writable) return
      if (act === 'half_close') to.end(bytes)
      else if (!to.write(bytes)) return drain(to)
    }

    /** Passes backpressure on to the sender. */
    async function drain(to: Socket): Promise<void> {
      from.pause()
      await Promise.race([once(to, 'drain').catch(() => {}), new Promise((resolve) => to.once('close', resolve))])
      from.resume()
    }
  }

  return { reset }
}
