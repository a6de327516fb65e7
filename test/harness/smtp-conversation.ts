import type { Socket } from 'node:net'
import { TLSSocket, type TlsOptions } from 'node:tls'
import { type Act, DEFAULT, type Script, type Verb } from './smtp-script.ts'
import { takes } from './waits.ts'

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

/** The script of a server, and the record of its conversations. */
export interface Conversations {
  script: Script
  /** Every reply of the server is delayed by this time: one round trip. */
  delayMs: number
  sessions: SeenSession[]
  /** Every message whose final dot arrived, whether the reply was 2xx or not. */
  messages: SeenMessage[]
}

/** Talks SMTP on a connection as the script says. `count` returns how often the server has received a verb before. */
export function converse(plain: Socket, record: Conversations, count: (verb: Verb) => number, tls: TlsOptions): void {
  const session: SeenSession = {
    from: plain.remoteAddress ?? '',
    commands: [],
    turns: 0,
    segments: [],
    tls: false,
    closed: false,
    openedAtMs: performance.now(),
  }
  record.sessions.push(session)
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
    record.messages.push({
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
    const script = record.script[verb]
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
    if (record.delayMs > 0) setTimeout(write, record.delayMs)
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
