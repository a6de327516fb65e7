import { unblocked } from './alarm.ts'
import type { Host, Reply, TimedPhase, TlsDemand, TlsEvidence } from './attempt.ts'
import { dialHost } from './dial-host.ts'
import type { EngineLimits, SiteLimits } from './engine-limits.ts'
import { type Failure, failureOf } from './failure.ts'
import type { HostMemory } from './host-memory.ts'
import { hadAllOf, hasGivenUp, type OwnTime } from './own-time.ts'
import { isCompletion, type RawReply, wordsOf } from './reply.ts'
import { type Shown, serverAt, type WitnessVisit } from './shown.ts'
import { createStopwatch, type Stopwatch } from './stopwatch.ts'
import {
  type createTlsContexts,
  isFlawOfClock,
  type TlsRule,
  tlsRuleOf,
  UNCHECKED_POLICY,
  upgradeToTls,
} from './tls.ts'
import { Wire } from './wire.ts'

export interface Extensions {
  kind: 'extensions'
  pipelining: boolean
  starttls: boolean
  /** RFC 6152: content with bytes over 127 is accepted. */
  eightBitMime: boolean
  /** RFC 3461: the client may say what a bounce contains. */
  dsn: boolean
  /** RFC 6531: addresses and headers may hold letters beyond ASCII. */
  smtpUtf8: boolean
  /** RFC 1870, in bytes; absent where the server announces no limit. */
  maxSize?: number
  /** RFC 9422: transactions in a session (MAILMAX) and recipients in a transaction (RCPTMAX), where it says so. */
  maxMessages?: number
  maxRecipients?: number
  /** The server knows HELO only, and so no extension. */
  refusedEhlo?: Failure
}

/** An SMTP session past EHLO, ready for MAIL. */
export interface Session {
  kind: 'session'
  wire: Wire
  host: Host
  ip: string
  tls: TlsEvidence | null
  /** What the server may call us: our HELO name and the address that it sees. */
  ourNames: readonly string[]
  extensions: Extensions
  /** The server waits after the dot, for each recipient of the transaction. */
  delaysEachRecipient: boolean
  /** How many transactions have begun on it. */
  messages: number
  /** The last transaction is still open: RSET goes before the next one. */
  needsReset: boolean
  /** The server has refused a transaction for now. It would refuse the next one as well. */
  isSpent: boolean
  /** Why the session is in clear, where a handshake failed or EHLO was refused, until a transaction has reported it. */
  withoutTls?: Failure
}

/** Whether the session takes another message, by what the server said and by the limits of its site. */
export function takesMore({ isSpent, messages, extensions }: Session, limits: SiteLimits): boolean {
  return !isSpent && messages < Math.min(limits.messages, extensions.maxMessages ?? Infinity)
}

export interface SessionOptions {
  heloName: string
  tlsContexts: ReturnType<typeof createTlsContexts>
  cleartextHosts: HostMemory
  /** The hosts that were silent. */
  silentHosts: HostMemory
  /** The hosts that offer PIPELINING and let commands go without a reply. */
  forgetfulHosts: HostMemory
  /** What servers show of late. */
  shown: Shown
  limits: EngineLimits
  clockErrorMs(): number
}

export interface SessionRequest {
  host: Host
  /** The key of the host's site, without a demand of TLS. */
  site: string
  sourceAddress?: string
  tlsDemandedBy?: TlsDemand
  /** How long an address may be silent, then how long the greeting may take, and each reply after it. */
  connectMs: number
  greetingMs: number
  commandMs: number
  /** The deadline of the whole call, on the clock of `performance.now()`. */
  untilMs: number
  signal?: AbortSignal
  stopwatch: Stopwatch
  /** Counts the visits of witnesses. */
  own?: Pick<OwnTime, 'during'>
  /** The host is visited as a witness: nothing depends on what it lacks. */
  isVisit?: true
}

/**
 * Opens a session with a host. Where the host offers STARTTLS and then fails it, opens one in clear, unless TLS is
 * demanded.
 */
export async function openSession(options: SessionOptions, call: SessionRequest): Promise<Session | Failure> {
  const { cleartextHosts } = options
  const rule = tlsRuleOf(call.host, call.tlsDemandedBy)
  const opened = await openOnce(options, call, rule !== undefined || !cleartextHosts.has(call.host))
  const session = opened.kind === 'failure' ? await unlessCutOff(options, opened, call) : opened
  if (session.kind === 'session' || session.phase !== 'starttls') return session
  if (call.signal?.aborted) return { ...session, how: 'left', detail: 'the caller left' }
  if (!isBrokenTls(session, call)) return session
  // Silence proves nothing: the server may have TLS at another time.
  if (rule && session.how === 'timeout') return session
  if (rule) return insecure(session, rule, options.clockErrorMs())
  if (performance.now() >= call.untilMs) return session
  cleartextHosts.add(call.host)
  return { ...(await openOnce(options, call, false)), withoutTls: session }
}

/**
 * The failure, or one of our way where a server has fallen silent after its greeting and no other one greets. A way
 * that breaks in a session is found broken in the second half of the silence; until then TCP sends again what it lost.
 */
export async function unlessCutOff(
  options: SessionOptions,
  failure: Failure,
  call: Pick<SessionRequest, 'host' | 'site' | 'sourceAddress' | 'own'>,
): Promise<Failure> {
  const { how, phase, ip, silentMs = 0 } = failure
  if (how !== 'timeout' || phase === 'connect' || phase === 'greeting' || ip === undefined) return failure
  const sinceMs = performance.now() - silentMs / 2
  const judging = options.shown.greeting.isCutOff(serverAt(ip, call), sinceMs, visitor(options, false))
  if (!(await (call.own?.during(judging) ?? judging))) return failure
  return { ...failure, how: 'unreachable', detail: `${failure.detail}, while no server replies` }
}

/**
 * Whether the failure proves that the server has no good TLS. Input after the reply to STARTTLS is an injection and no
 * weakness of the server. Lack of time is no lack of TLS. A server that was silent for a whole command gets the message
 * in clear, where TLS is not demanded.
 */
function isBrokenTls(failure: Failure, { commandMs }: SessionRequest): boolean {
  const { how, silentMs = 0 } = failure
  if (how === 'timeout') return hadAllOf(commandMs, silentMs)
  return how !== 'garbage' && how !== 'local' && how !== 'unreachable' && !hasGivenUp(failure)
}

function insecure(
  { detail = 'STARTTLS was refused', ...failure }: Failure,
  { by, mustVerify, dane }: TlsRule,
  clockErrorMs: number,
): Failure {
  const certificate = dane ? ' with a certificate that matches its TLSA records' : ' with a valid certificate'
  const demand = `${by} demands TLS${mustVerify ? certificate : ''}: ${detail}`
  if (isFlawOfClock(detail, clockErrorMs))
    return { ...failure, how: 'local', detail: `${demand}, by a clock of ours that is wrong` }
  return { ...failure, how: by === UNCHECKED_POLICY ? 'local' : 'insecure', detail: demand }
}

/** The greetings of servers that make senders whom they do not know wait after the dot, for each recipient. */
const DELAYING_SERVERS = /\bESMTP mox\b/

async function openOnce(options: SessionOptions, call: SessionRequest, wantTls: boolean): Promise<Session | Failure> {
  const { host } = call
  const rule = tlsRuleOf(host, call.tlsDemandedBy)
  call.stopwatch.begin('connect')
  const stalledMs = unblocked.stalledMs()
  const beganAtMs = performance.now()
  const visit = (isForTls: boolean) => (call.isVisit ? undefined : visitor(options, isForTls))
  const reach = options.shown.connection
  const connection = await dialHost({ ...call, reach, visit: visit(false), limits: options.limits })
  if (connection.kind === 'not_connected') return { ...connection, kind: 'failure', phase: 'connect' }
  const { ip, socket } = connection
  const server = serverAt(ip, call)
  /** Ends the session with the failure, or with one of our way to all servers. */
  const quitLacking = async (
    wire: Wire,
    shown: Shown[keyof Shown],
    failure: Failure,
    isAnswered = false,
  ): Promise<Failure> => {
    wire.quit()
    const isForTls = [options.shown.tls, options.shown.certificate, options.shown.dane].includes(shown)
    const sinceMs = performance.now() - (failure.silentMs ?? Infinity) / 2
    const judging = shown.isCutOff(server, Math.max(beganAtMs, sinceMs), visit(isForTls), isAnswered)
    const isCutOff = await (call.own?.during(judging) ?? judging)
    const detail = `${failure.detail}, as at all servers of late`
    return isCutOff ? { ...failure, ip, how: 'unreachable', detail } : { ...failure, ip }
  }
  const ourNames = [options.heloName, call.sourceAddress ?? socket.localAddress ?? '']
  const plain = new Wire(socket, 1, stalledMs)
  const greetingMs = Math.min(call.greetingMs, call.untilMs - performance.now())
  const greeting = await command(plain, { ...call, commandMs: greetingMs }, 'greeting')
  if (greeting.kind === 'reply' || greeting.reply) options.shown.greeting.shownBy(server, beganAtMs)
  else if (isWithoutWords(greeting, greetingMs)) return quitLacking(plain, options.shown.greeting, greeting)
  const delaysEachRecipient = greeting.kind === 'reply' && DELAYING_SERVERS.test(greeting.lines[0] ?? '')
  const unused = { messages: 0, needsReset: false, isSpent: false }
  const session = { kind: 'session' as const, host, ip, ourNames, delaysEachRecipient, ...unused }
  const extensions = greeting.kind === 'failure' ? greeting : await hello(plain, call, options)
  if (extensions.kind === 'extensions' || extensions.reply) options.shown.session.shownBy(server, beganAtMs)
  else if (extensions.how === 'closed') return quitLacking(plain, options.shown.session, extensions, true)
  if (extensions.kind === 'failure') return quitWith(plain, { ...extensions, ip })
  if (!extensions.starttls && rule) return quitLacking(plain, options.shown.tls, WITHOUT_TLS)
  if (!extensions.starttls) options.shown.tls.noteLacking(server)
  if (!extensions.starttls || !wantTls)
    return {
      ...session,
      wire: plain,
      tls: null,
      extensions,
      withoutTls: extensions.refusedEhlo && { ...extensions.refusedEhlo, ip },
    }

  const tlsStart = await startTls(plain, call, options)
  if (tlsStart.kind === 'failure') {
    const isBroken = isBrokenTls(tlsStart, call)
    if (isBroken && rule) return quitLacking(plain, options.shown.tls, tlsStart)
    if (isBroken) options.shown.tls.noteLacking(server)
    return quitWith(plain, { ...tlsStart, ip })
  }
  options.shown.tls.shownBy(server, beganAtMs)
  const { wire, tls, flaw } = tlsStart
  const unverified = { ...WITHOUT_TLS, detail: flaw, ip, tls }
  const proof = rule?.dane ? options.shown.dane : options.shown.certificate
  if (tls.verified) proof.shownBy(server, beganAtMs)
  else if (rule?.mustVerify) return quitLacking(wire, proof, unverified)
  else proof.noteLacking(server)
  const secureExtensions = await hello(wire, call, options)
  if (secureExtensions.kind === 'failure') return quitWith(wire, { ...secureExtensions, ip, tls })
  return { ...session, wire, tls, extensions: secureExtensions }
}

/** Asks a witness for its greeting, or its TLS. It gets no message. */
function visitor(options: SessionOptions, isForTls: boolean): WitnessVisit {
  return async ({ name, port, dane, ip, site, sourceAddress }) => {
    using _ = unblocked.watch()
    const { hastyMs, connectMs } = options.limits
    const times = { connectMs: hastyMs, greetingMs: connectMs, commandMs: connectMs }
    const host = { name, preference: 0, addresses: [ip], port, dane }
    const untilMs = performance.now() + hastyMs + connectMs
    const call = { host, site, sourceAddress, ...times, untilMs, stopwatch: createStopwatch(), isVisit: true as const }
    const session = await openOnce(options, call, isForTls).catch(() => undefined)
    if (session?.kind === 'session') session.wire.quit()
  }
}

/** Something on the way may have accepted the connection, such as a proxy of our own network. */
function isWithoutWords({ how, silentMs = 0 }: Failure, greetingMs: number): boolean {
  return how === 'closed' || (how === 'timeout' && silentMs >= greetingMs / 2)
}

const WITHOUT_TLS: Failure = { kind: 'failure', phase: 'starttls', how: 'insecure', detail: 'STARTTLS is not offered' }

function quitWith(wire: Wire, failure: Failure): Failure {
  wire.quit()
  return failure
}

/** The 2xx reply to a command line, or to the connection itself when there is no line. */
async function command(
  wire: Wire,
  call: SessionRequest,
  phase: TimedPhase,
  line?: string,
): Promise<RawReply | Failure> {
  const { signal, untilMs, commandMs, stopwatch } = call
  stopwatch.begin(phase)
  if (line !== undefined) wire.send(line, 1)
  signal?.addEventListener('abort', wire.abandon)
  if (signal?.aborted) wire.abandon()
  const reply = await wire.nextReply(Math.min(untilMs, performance.now() + commandMs))
  signal?.removeEventListener('abort', wire.abandon)
  return isCompletion(reply) ? reply : failureOf(phase, reply)
}

async function hello(
  wire: Wire,
  call: SessionRequest,
  { heloName, forgetfulHosts }: SessionOptions,
): Promise<Extensions | Failure> {
  const reply = await command(wire, call, 'ehlo', `EHLO ${heloName}\r\n`)
  if (reply.kind === 'reply') {
    const extensions = extensionsOf(reply.lines)
    return forgetfulHosts.has(call.host) ? { ...extensions, pipelining: false } : extensions
  }
  const refusal = refusalOfEhlo(reply)
  if (!refusal) return reply
  const heloReply = await command(wire, call, 'ehlo', `HELO ${heloName}\r\n`)
  if (heloReply.kind === 'failure') return heloReply
  const detail = `${wordsOf(refusal)}: TLS was never offered`
  return { ...extensionsOf([]), refusedEhlo: { kind: 'failure', phase: 'ehlo', how: 'refused', detail } }
}

/** The reply of a server that may know HELO (RFC 5321 3.2). Codes 521 and 554 refuse the client, whatever it says. */
function refusalOfEhlo({ how, reply }: Failure): Reply | undefined {
  const mayKnowHelo = how === 'refused' && reply && reply.code >= 500 && reply.code !== 521 && reply.code !== 554
  return mayKnowHelo ? reply : undefined
}

async function startTls(wire: Wire, call: SessionRequest, { tlsContexts }: SessionOptions) {
  const reply = await command(wire, call, 'starttls', 'STARTTLS\r\n')
  if (reply.kind === 'failure') return reply
  const failure = { kind: 'failure' as const, phase: 'starttls' as const }
  if (!wire.isQuiet()) return { ...failure, how: 'garbage' as const, detail: 'words before the handshake' }
  const untilMs = Math.min(call.untilMs, performance.now() + call.commandMs)
  const { name } = call.host
  const rule = tlsRuleOf(call.host, call.tlsDemandedBy)
  const secureContext = rule?.mustVerify ? tlsContexts.demanded : tlsContexts.opportunistic
  const upgrade = await upgradeToTls(wire.detach(), { name, secureContext, rule, untilMs, signal: call.signal })
  if (upgrade.kind === 'failed') {
    wire.destroy()
    const { how, detail, silentMs, keptMs } = upgrade
    return { ...failure, how, detail, silentMs, keptMs }
  }
  const { socket, tls, flaw } = upgrade
  return { kind: 'secured' as const, wire: new Wire(socket, 0), tls, flaw }
}

function extensionsOf(lines: string[]): Extensions {
  const keywords = new Map<string, string | undefined>()
  for (const line of lines.slice(1)) {
    const [keyword = '', ...values] = line
      .trim()
      .toUpperCase()
      .split(/[ \t]+/)
    keywords.set(keyword, values.join(' '))
  }
  const [size = ''] = (keywords.get('SIZE') ?? '').split(' ')
  const limits = new Map((keywords.get('LIMITS') ?? '').split(' ').map((limit) => limit.split('=') as [string, string]))
  return {
    kind: 'extensions',
    pipelining: keywords.has('PIPELINING'),
    starttls: keywords.has('STARTTLS'),
    eightBitMime: keywords.has('8BITMIME'),
    dsn: keywords.has('DSN'),
    smtpUtf8: keywords.has('SMTPUTF8'),
    maxSize: /^[1-9]\d{0,15}$/.test(size) ? Number(size) : undefined,
    maxMessages: limitOf(limits.get('MAILMAX')),
    maxRecipients: limitOf(limits.get('RCPTMAX')),
  }
}

/** RFC 9422 3.1. A transaction has recipients of one domain only, so any RCPTDOMAINMAX is met. */
function limitOf(digits = ''): number | undefined {
  return /^[1-9]\d{0,5}$/.test(digits) ? Number(digits) : undefined
}
