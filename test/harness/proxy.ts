import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** `up` is towards the server. */
export type Direction = 'up' | 'down'

/** What one read of a socket gave: what was written together arrives together, as a rule. */
export interface WireMessage {
  direction: Direction
  /** Of this proxy, from 1. */
  connection: number
  /** Of all messages of this proxy, both ways, from 1. */
  n: number
  bytes: Buffer
}

/** What becomes of a message. Everything but `pass` is a fault of the network. */
export type Act =
  | 'pass'
  /** It is lost, what follows is not. */
  | 'drop'
  /** Both sides get RST. */
  | 'reset'
  /** It is passed on, and then this direction ends with FIN. */
  | 'half_close'
  /** From here on nothing gets through, either way, and nobody hears of a close: a peer that is gone without a word. */
  | 'hang'
  | { afterMs: number; act: Act }
  /** Only its first bytes get through. */
  | { bytes: number; act: 'reset' | 'hang' }

export interface Target {
  host: string
  port: number
}

export interface TcpProxy {
  port: number
  /** Where new connections go; they are reset while it is undefined. */
  target: Target | undefined
  /** Asked about every message before it moves on; `pass` when it says nothing. */
  onMessage: (message: WireMessage) => Act | undefined
  /** Messages so far, both ways. */
  count: number
  /** The local ports of its connections to the target: how the target knows them. */
  ports: number[]
  /** Resets every connection there is. */
  reset(): void
  close(): Promise<void>
}

/** A TCP proxy on loopback that injects the faults of a network. */
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

  /** One direction: in order, even where a message waits. */
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
      inOrder(() => perform(act, bytes))
    })
    from.on('end', () => inOrder(() => void (hangs || to.end())))
    from.on('error', () => inOrder(() => void (hangs || to.resetAndDestroy())))
    from.on('close', () => inOrder(() => void (hangs || to.destroySoon())))

    function perform(act: Act, bytes: Buffer): Promise<void> | void {
      if (hangs) return
      if (act === 'reset') return reset()
      if (act === 'hang') hangs = true
      if (act === 'drop' || act === 'hang') return
      if (typeof act === 'object' && 'bytes' in act) {
        to.write(bytes.subarray(0, act.bytes), () => perform(act.act, bytes))
        return
      }
      if (typeof act === 'object') return wait(act.afterMs).then(() => perform(act.act, bytes))
      if (!to.writable) return
      if (act === 'half_close') to.end(bytes)
      else if (!to.write(bytes)) return drained(to)
    }

    /** Backpressure reaches the sender. */
    async function drained(to: Socket): Promise<void> {
      from.pause()
      await Promise.race([once(to, 'drain').catch(() => {}), new Promise((resolve) => to.once('close', resolve))])
      from.resume()
    }
  }

  return { reset }
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
