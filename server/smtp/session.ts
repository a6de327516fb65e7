import type { Host, Phase, TlsDemand } from './attempt.ts'
import { dial } from './dial.ts'
import { type Failure, failureOf } from './failure.ts'
import type { Limits } from './limits.ts'
import { isPositive, type RawReply } from './reply.ts'
import { type createCleartextHosts, type createTlsContexts, type TlsState, upgradeToTls } from './tls.ts'
import { createWire, type Wire } from './wire.ts'

export interface Extensions {
  kind: 'extensions'
  pipelining: boolean
  starttls: boolean
  /** RFC 3461: it says what a bounce is to hold. */
  dsn: boolean
  /** RFC 1870, in bytes; absent where the server names no limit. */
  maxSize?: number
}

/** An SMTP session past EHLO, ready for MAIL. */
export interface Session {
  kind: 'session'
  wire: Wire
  host: Host
  ip: string
  tls: TlsState | null
  extensions: Extensions
  /** Transactions begun on it. */
  messages: number
  /** The last transaction was left open: RSET goes before the next one. */
  needsReset: boolean
}

export interface SessionOptions {
  heloName: string
  tlsContexts: ReturnType<typeof createTlsContexts>
  cleartextHosts: ReturnType<typeof createCleartextHosts>
  limits: Limits
}

export interface Call {
  host: Host
  sourceAddress?: string
  tlsDemandedBy?: TlsDemand
  commandMs: number
  /** The end of all patience, on the clock of `performance.now()`. */
  untilMs: number
  signal?: AbortSignal
}

/** Opens a session with a host; where STARTTLS is offered and then fails, once more in clear, unless TLS is demanded. */
export async function openSession(options: SessionOptions, call: Call): Promise<Session | Failure> {
  const { cleartextHosts } = options
  const { tlsDemandedBy } = call
  const place = `${call.host.name}:${call.host.port}`
  const session = await openOnce(options, call, tlsDemandedBy !== undefined || !cleartextHosts.has(place))
  if (session.kind === 'session' || !isBrokenTls(session)) return session
  // Neither a caller who left nor our own lack of time says anything of the server.
  if (call.signal?.aborted) return { ...session, how: 'left', detail: 'the caller left' }
  if (tlsDemandedBy) return insecure(session, tlsDemandedBy)
  if (performance.now() >= call.untilMs) return session
  cleartextHosts.add(place)
  return openOnce(options, call, false)
}

/** Words behind the reply to STARTTLS are an injection, not a weakness of the server: no reason to go on in clear. */
function isBrokenTls({ phase, how }: Failure): boolean {
  return phase === 'starttls' && how !== 'garbage'
}

function insecure({ detail = 'STARTTLS was refused', ...failure }: Failure, demand: TlsDemand): Failure {
  return { ...failure, how: 'insecure', detail: `${demand} demands TLS with a valid certificate: ${detail}` }
}

async function openOnce(options: SessionOptions, call: Call, wantTls: boolean): Promise<Session | Failure> {
  const { host, tlsDemandedBy } = call
  const dialled = await dial({ ...call, limits: options.limits })
  if (dialled.kind === 'not_dialled') return { ...dialled, kind: 'failure', phase: 'connect' }
  const { ip, socket } = dialled
  const session = { kind: 'session' as const, host, ip, messages: 0, needsReset: false }

  const plain = createWire(socket, 1)
  const greeting = await answer(plain, call, 'greeting')
  const extensions = greeting.kind === 'failure' ? greeting : await hello(plain, call, options)
  if (extensions.kind === 'failure') return leave(plain, { ...extensions, ip })
  if (!extensions.starttls && tlsDemandedBy) return leave(plain, { ...WITHOUT_TLS, ip })
  if (!extensions.starttls || !wantTls) return { ...session, wire: plain, tls: null, extensions }

  const secured = await startTls(plain, call, options)
  if (secured.kind === 'failure') return leave(plain, { ...secured, ip })
  const { wire, tls, flaw } = secured
  if (!tls.verified && tlsDemandedBy) return leave(wire, { ...WITHOUT_TLS, detail: flaw, ip, tls })
  const securely = await hello(wire, call, options)
  if (securely.kind === 'failure') return leave(wire, { ...securely, ip, tls })
  return { ...session, wire, tls, extensions: securely }
}

const WITHOUT_TLS: Failure = { kind: 'failure', phase: 'starttls', how: 'insecure', detail: 'STARTTLS is not offered' }

function leave(wire: Wire, failure: Failure): Failure {
  wire.quit()
  return failure
}

/** A 2xx reply to the command, or to the mere connection. */
async function answer(wire: Wire, call: Call, phase: Phase, command?: string): Promise<RawReply | Failure> {
  const { signal, untilMs, commandMs } = call
  if (command !== undefined) wire.say(command, 1)
  signal?.addEventListener('abort', wire.leave)
  if (signal?.aborted) wire.leave()
  const heard = await wire.hear(Math.min(untilMs, performance.now() + commandMs))
  signal?.removeEventListener('abort', wire.leave)
  return heard.kind === 'reply' && isPositive(heard) ? heard : failureOf(phase, heard)
}

async function hello(wire: Wire, call: Call, { heloName }: SessionOptions): Promise<Extensions | Failure> {
  const reply = await answer(wire, call, 'ehlo', `EHLO ${heloName}\r\n`)
  if (reply.kind === 'reply') return extensionsOf(reply.lines)
  const isOld = reply.reply?.code === 500 || reply.reply?.code === 502
  const old = isOld ? await answer(wire, call, 'ehlo', `HELO ${heloName}\r\n`) : reply
  return old.kind === 'failure' ? old : extensionsOf([])
}

async function startTls(wire: Wire, call: Call, { tlsContexts }: SessionOptions) {
  const reply = await answer(wire, call, 'starttls', 'STARTTLS\r\n')
  if (reply.kind === 'failure') return reply
  const failure = { kind: 'failure' as const, phase: 'starttls' as const }
  if (!wire.isQuiet()) return { ...failure, how: 'garbage' as const, detail: 'words before the handshake' }
  const untilMs = Math.min(call.untilMs, performance.now() + call.commandMs)
  const { name } = call.host
  const secureContext = call.tlsDemandedBy ? tlsContexts.demanded : tlsContexts.opportunistic
  const upgraded = await upgradeToTls(wire.detach(), { name, secureContext, untilMs, signal: call.signal })
  if (upgraded.kind === 'failed') {
    wire.destroy()
    return { ...failure, how: 'closed' as const, detail: upgraded.detail }
  }
  const { socket, tls, flaw } = upgraded
  return { kind: 'secured' as const, wire: createWire(socket, 0), tls, flaw }
}

function extensionsOf(lines: string[]): Extensions {
  const offered = new Map<string, string | undefined>()
  for (const line of lines.slice(1)) {
    const [keyword = '', value] = line
      .trim()
      .toUpperCase()
      .split(/[ \t]+/)
    offered.set(keyword, value)
  }
  const size = offered.get('SIZE') ?? ''
  return {
    kind: 'extensions',
    pipelining: offered.has('PIPELINING'),
    starttls: offered.has('STARTTLS'),
    dsn: offered.has('DSN'),
    maxSize: /^[1-9]\d{0,15}$/.test(size) ? Number(size) : undefined,
  }
}
