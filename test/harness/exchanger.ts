import { createServer, type Server, type Socket } from 'node:net'
import { TLSSocket, type TlsOptions } from 'node:tls'
import { takes } from './waits.ts'

/** What the server does in reply to a verb. */
export type Act =
  /** Sends this reply and a CRLF. */
  | string
  /** Sends exactly these bytes, then performs `act`. */
  | { raw: string | Buffer; act?: Act }
  /** Sends this text, one byte every `everyMs`. */
  | { drip: string; everyMs: number }
  /** After this number of milliseconds, or once the promise resolves. */
  | { after: number | Promise<unknown>; act: Act }
  | 'stall'
  /** Sends nothing and stops reading. */
  | 'deaf'
  | 'close'
  | 'reset'

export type Verb =
  | 'greeting'
  | 'ehlo'
  | 'helo'
  | 'starttls'
  | 'handshake'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'content'
  | 'dot'
  | 'rset'
  | 'quit'

/**
 * One act for each verb, or a function of the command line and of how often this server has received the verb before.
 */
export type Script = { [verb in Verb]?: Act | ((line: string, times: number) => Act | undefined) }

export interface SeenMessage {
  from: string
  to: string[]
  /** The octets as received: dots are still doubled, the final dot is left out. */
  wire: string
  /** `wire` without the doubled dots. */
  content: string
  tls: boolean
}

export interface SeenSession {
  /** The client's address. */
  from: string
  commands: string[]
  /** How often the client sent something after the server did: the round trips, without that of the TCP connection. */
  turns: number
  /** The pieces in which the client's data arrived. */
  segments: string[]
  tls: boolean
  closed: boolean
  openedAtMs: number
}

export interface Exchanger {
  port: number
  host: string
  script: Script
  /** Every reply of the server is delayed by this time: one round trip. */
  delayMs: number
  sessions: SeenSession[]
  /** Every message whose final dot arrived, whether the reply was 2xx or not. */
  messages: SeenMessage[]
  close(): Promise<void>
}

const DEFAULT: Record<Exclude<Verb, 'handshake' | 'content'>, string> = {
  greeting: '220 mx.test ESMTP',
  ehlo: '250-mx.test\r\n250-PIPELINING\r\n250 8BITMIME',
  helo: '250 mx.test',
  starttls: '220 2.0.0 go ahead',
  mail: '250 2.1.0 ok',
  rcpt: '250 2.1.5 ok',
  data: '354 go ahead',
  dot: '250 2.0.0 queued',
  rset: '250 2.0.0 ok',
  quit: '221 2.0.0 bye',
}

/** Starts a mail exchanger on loopback that behaves as its script says and records what it receives. */
export async function startExchanger(
  script: Script = {},
  options: TlsOptions & { port?: number } = {},
  host = '127.0.0.1',
): Promise<Exchanger> {
  const { port = 0, ...tls } = options
  const sockets = new Set<Socket>()
  const times = new Map<Verb, number>()
  const exchanger: Exchanger = { port: 0, host, script, delayMs: 0, sessions: [], messages: [], close }

  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    converse(socket, exchanger, (verb) => times.set(verb, (times.get(verb) ?? 0) + 1).get(verb)! - 1, tls)
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  const address = server.address()
  exchanger.port = typeof address === 'object' && address ? address.port : 0

  async function close(): Promise<void> {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return exchanger
}

function converse(plain: Socket, exchanger: Exchanger, count: (verb: Verb) => number, tls: TlsOptions): void {
  const session: SeenSession = {
    from: plain.remoteAddress ?? '',
    commands: [],
    turns: 0,
    segments: [],
    tls: false,
    closed: false,
    openedAtMs: performance.now(),
  }
  exchanger.sessions.push(session)
  let socket = plain
  let buffer = ''
  let hasReplied = false
  let inContent = false
  let searchStart = 0
  let envelope = newEnvelope()
  let queue: Promise<unknown> = Promise.resolve()

  const hook = (to: Socket) => {
    to.setNoDelay(true)
    to.on('data', onData)
    to.on('error', () => {})
    to.on('close', () => {
      session.closed = true
    })
  }
  hook(plain)
  queue = perform('greeting', '')

  function onData(chunk: Buffer): void {
    const text = chunk.toString('latin1')
    session.segments.push(text)
    if (hasReplied) session.turns++
    hasReplied = false
    buffer += text
    queue = queue.then(read)
  }

  async function read(): Promise<void> {
    for (let end = next(); end >= 0; end = next()) {
      const part = buffer.slice(0, end)
      buffer = buffer.slice(end)
      if (inContent) await take(part)
      else await command(part.slice(0, -2))
    }
  }

  function next(): number {
    if (inContent) {
      if (buffer.startsWith('.\r\n')) return 3
      const end = buffer.indexOf('\r\n.\r\n', searchStart)
      searchStart = Math.max(0, buffer.length - 4)
      return end < 0 ? -1 : end + 5
    }
    const end = buffer.indexOf('\r\n')
    return end < 0 ? -1 : end + 2
  }

  async function take(part: string): Promise<void> {
    inContent = false
    session.commands.push('.')
    const wire = part.slice(0, -3)
    exchanger.messages.push({
      from: envelope.from ?? '',
      to: envelope.to,
      wire,
      content: wire.replace(/^\./gm, ''),
      tls: session.tls,
    })
    envelope = newEnvelope()
    await perform('dot', '.')
  }

  async function command(line: string): Promise<void> {
    session.commands.push(line)
    const verb = line.split(/[ :]/)[0]!.toLowerCase() as Verb
    if (verb === 'rset') envelope = newEnvelope()
    const reply = await perform(verb, line)
    const isYes = reply?.startsWith('2') ?? false
    if (verb === 'mail' && isYes) envelope.from = inAngles(line)
    if (verb === 'rcpt' && isYes) envelope.to.push(inAngles(line))
    if (verb === 'starttls' && isYes) secure()
    if (verb === 'quit') socket.end()
    if (verb === 'data' && reply?.startsWith('3')) {
      inContent = true
      searchStart = 0
      await perform('content', '')
    }
  }

  function secure(): void {
    const handshake = actOf('handshake', '')
    socket.off('data', onData)
    if (handshake !== undefined) {
      act(handshake)
      return
    }
    const tlsSocket = new TLSSocket(plain, { isServer: true, ...tls })
    session.tls = true
    socket = tlsSocket
    hasReplied = false
    hook(tlsSocket)
  }

  function actOf(verb: Verb, line: string): Act | undefined {
    const script = exchanger.script[verb]
    const times = count(verb)
    return typeof script === 'function' ? script(line, times) : script
  }

  async function perform(verb: Verb, line: string): Promise<string | undefined> {
    const isTooEarly = (verb === 'rcpt' && envelope.from === undefined) || (verb === 'data' && envelope.to.length === 0)
    const standard = isTooEarly ? '503 5.5.1 not yet' : (DEFAULT as Record<string, string>)[verb]
    const unknown = verb === 'content' ? undefined : '500 5.5.2 what?'
    const next = actOf(verb, line) ?? standard ?? unknown
    return next === undefined ? undefined : act(next)
  }

  /** Performs an act. Resolves with the reply once it is sent. */
  async function act(step: Act): Promise<string | undefined> {
    if (step === 'close') socket.end()
    else if (step === 'reset') plain.resetAndDestroy()
    else if (step === 'deaf') plain.pause()
    else if (typeof step === 'string' && step !== 'stall') return say(`${step}\r\n`)
    else if (typeof step === 'object' && 'raw' in step) {
      say(step.raw)
      return step.act === undefined ? step.raw.toString('latin1') : act(step.act)
    } else if (typeof step === 'object' && 'act' in step) {
      await (typeof step.after === 'number' ? takes(step.after) : step.after)
      return act(step.act)
    } else if (typeof step === 'object') {
      for (const byte of step.drip) {
        if (session.closed) return undefined
        say(byte)
        await takes(step.everyMs)
      }
      return step.drip
    }
    // After a close or a stall, no later command gets a reply.
    return new Promise(() => {})
  }

  function say<T extends string | Buffer>(text: T): T {
    hasReplied = true
    const to = socket
    const write = () => to.writable && to.write(text, 'latin1')
    if (exchanger.delayMs > 0) setTimeout(write, exchanger.delayMs)
    else write()
    return text
  }
}

function newEnvelope(): { from?: string; to: string[] } {
  return { to: [] }
}

function inAngles(line: string): string {
  return /<(.*)>/.exec(line)?.[1] ?? ''
}
