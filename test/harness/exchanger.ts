import { createServer, type Server, type Socket } from 'node:net'
import { TLSSocket, type TlsOptions } from 'node:tls'

/** What the server does instead of, or as, its answer to a verb. */
export type Act =
  /** Says these lines, each ended with CRLF. */
  | string
  /** Says exactly these bytes, and then does what follows. */
  | { raw: string | Buffer; act?: Act }
  /** Says this, one byte each so many milliseconds. */
  | { drip: string; everyMs: number }
  | { after: number; act: Act }
  | 'stall'
  /** Stops reading as well. */
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

/** By verb: one act for all, or a function of the command line and how often the verb has come to this server before. */
export type Script = { [verb in Verb]?: Act | ((line: string, times: number) => Act | undefined) }

export interface SeenMessage {
  from: string
  to: string[]
  /** As it came, dots still doubled, without the final dot. */
  wire: string
  /** Dots undoubled. */
  content: string
  tls: boolean
}

export interface SeenSession {
  /** Address of the client. */
  from: string
  commands: string[]
  /** How often the client spoke after it had been spoken to: round trips, the connection's own not counted. */
  turns: number
  /** Pieces in which the client's words arrived. */
  segments: string[]
  tls: boolean
  closed: boolean
  openedAtMs: number
}

export interface Exchanger {
  port: number
  host: string
  script: Script
  /** Every word of the server arrives so much later: one round trip. */
  delayMs: number
  sessions: SeenSession[]
  /** Those answered with 2xx or not, as long as their dot arrived. */
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

/** A mail exchanger on loopback that behaves as its script says and remembers what it was told. */
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
  let spoke = false
  let inContent = false
  let searched = 0
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
    if (spoke) session.turns++
    spoke = false
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
      const end = buffer.indexOf('\r\n.\r\n', searched)
      searched = Math.max(0, buffer.length - 4)
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
    const said = await perform(verb, line)
    const isYes = said?.startsWith('2') ?? false
    if (verb === 'mail' && isYes) envelope.from = inAngles(line)
    if (verb === 'rcpt' && isYes) envelope.to.push(inAngles(line))
    if (verb === 'starttls' && isYes) secure()
    if (verb === 'quit') socket.end()
    if (verb === 'data' && said?.startsWith('3')) {
      inContent = true
      searched = 0
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
    const secured = new TLSSocket(plain, { isServer: true, ...tls })
    session.tls = true
    socket = secured
    spoke = false
    hook(secured)
  }

  function actOf(verb: Verb, line: string): Act | undefined {
    const scripted = exchanger.script[verb]
    const times = count(verb)
    return typeof scripted === 'function' ? scripted(line, times) : scripted
  }

  async function perform(verb: Verb, line: string): Promise<string | undefined> {
    const isTooEarly = (verb === 'rcpt' && envelope.from === undefined) || (verb === 'data' && envelope.to.length === 0)
    const standard = isTooEarly ? '503 5.5.1 not yet' : (DEFAULT as Record<string, string>)[verb]
    const unknown = verb === 'content' ? undefined : '500 5.5.2 what?'
    const doing = actOf(verb, line) ?? standard ?? unknown
    return doing === undefined ? undefined : act(doing)
  }

  /** Ends when it is said; gives what was said. */
  async function act(doing: Act): Promise<string | undefined> {
    if (doing === 'close') socket.end()
    else if (doing === 'reset') plain.resetAndDestroy()
    else if (doing === 'deaf') plain.pause()
    else if (typeof doing === 'string' && doing !== 'stall') return say(`${doing}\r\n`)
    else if (typeof doing === 'object' && 'raw' in doing) {
      say(doing.raw)
      return doing.act === undefined ? doing.raw.toString('latin1') : act(doing.act)
    } else if (typeof doing === 'object' && 'act' in doing) {
      await new Promise((resolve) => setTimeout(resolve, doing.after))
      return act(doing.act)
    } else if (typeof doing === 'object') {
      for (const byte of doing.drip) {
        if (session.closed) return undefined
        say(byte)
        await new Promise((resolve) => setTimeout(resolve, doing.everyMs))
      }
      return doing.drip
    }
    // Closed, stalled: nothing that comes now is answered.
    return new Promise(() => {})
  }

  function say<T extends string | Buffer>(text: T): T {
    spoke = true
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
