import type { Delivery, Host, Outcome, Site, SmtpAttempt, Timings, TriedHost, Verdict } from './attempt.ts'
import type { WireContent } from './content.ts'
import { type Deadlines, siteLimitsOf } from './engine-limits.ts'
import type { MailObject } from './envelope.ts'
import { type Failure, judgeFailure } from './failure.ts'
import type { createLateReplies } from './late-replies.ts'
import type { createPool, PooledSite } from './pool.ts'
import { openSession, type Session, type SessionOptions } from './session.ts'
import { createStopwatch, type PhaseReport, type Stopwatch } from './stopwatch.ts'
import { type TransactionResult, transact } from './transaction.ts'

/** One message to the recipients of one domain, which are in one transaction. */
export interface DomainDelivery {
  site: Site
  sourceAddress?: string
  accountId?: string
  sender: string
  /** As in `Delivery`. */
  from?: readonly string[]
  recipients: string[]
  content: WireContent
  reference?: string
  startedAtMs: number
  deadlines: Deadlines
  /** The pool has given a connection by then. */
  slotMs: number
  commandMs: number
  /** As in `Delivery`, with indexes into `recipients` here. */
  beforeDot(accepted: number[]): Promise<boolean>
  signal?: AbortSignal
  onPhase?: Delivery['onPhase']
}

export interface DeliveryTools {
  pool: ReturnType<typeof createPool>
  lateReplies: ReturnType<typeof createLateReplies>
  opening: SessionOptions
}

const MAX_HOSTS = 2

type Ledger = ReturnType<typeof createLedger>

/** One attempt at each recipient, in their order. */
export async function deliverToDomain(tools: DeliveryTools, delivery: DomainDelivery): Promise<SmtpAttempt[]> {
  const { site, sourceAddress = '', accountId, slotMs, signal } = delivery
  const ledger = createLedger(delivery)
  const limits = site.limits ?? siteLimitsOf(site.hosts[0]?.name ?? '')
  const pooledSite = { key: `${sourceAddress} ${site.key}`, limits }
  const slot = await tools.pool.acquire(pooledSite, { accountId, untilMs: slotMs, signal })
  if (slot.kind === 'none') return ledger.close(slot.cause)
  if (slot.session?.messages === limits.messages - 1) void openSuccessor(tools, delivery, pooledSite, slot.session.host)
  let session: Session | undefined
  try {
    session = await converse(tools, delivery, ledger, slot.session)
  } finally {
    slot.release(session)
  }
  return ledger.close('no time was left')
}

/**
 * Opens the connection that follows one with its last message, so that the next send does not wait for it. A failure
 * says nothing: that send will meet it, and report it.
 */
async function openSuccessor(
  { pool, opening }: DeliveryTools,
  { site, sourceAddress, accountId, commandMs, deadlines }: DomainDelivery,
  pooledSite: PooledSite,
  host: Host,
): Promise<void> {
  const slot = pool.trySpare(pooledSite, accountId)
  if (!slot) return
  const { tlsDemandedBy } = site
  const call = { host, sourceAddress, tlsDemandedBy, commandMs, untilMs: deadlines.dotMs, stopwatch: createStopwatch() }
  const opened = await openSession(opening, call).catch(() => undefined)
  slot.release(opened?.kind === 'session' ? opened : undefined)
}

/**
 * Tries an idle session or a new one, and then another host where `hostsAfter` allows it. Returns a session that can be
 * reused.
 */
async function converse(tools: DeliveryTools, delivery: DomainDelivery, ledger: Ledger, idle?: Session) {
  const { site } = delivery
  const { dotMs } = delivery.deadlines
  let hosts = site.hosts.slice(0, MAX_HOSTS)
  let mayRepeat = true
  let session = idle
  while (session || (hosts.length > 0 && performance.now() < dotMs)) {
    const host = session?.host ?? hosts[0]!
    const isIdle = session !== undefined
    const signal = ledger.isPermissionAsked() ? undefined : delivery.signal
    const stopwatch = createStopwatch(phaseReport(delivery, host))
    const call = { ...delivery, host, tlsDemandedBy: site.tlsDemandedBy, untilMs: dotMs, signal, stopwatch }
    const sessionOrFailure = session ?? (await openSession(tools.opening, call))
    session = undefined
    const isOpen = sessionOrFailure.kind === 'session'
    const result: TransactionResult = isOpen
      ? await transact(sessionOrFailure, ledger.mail(stopwatch, signal))
      : { verdicts: [], failure: sessionOrFailure, reusable: false }
    stopwatch.end()
    const { ip, tls = null } = sessionOrFailure
    ledger.note(result, { mx: host.name, ip, tls, reused: isIdle || undefined }, stopwatch)
    if (isOpen && result.replyMayCome) tools.lateReplies.waitFor(sessionOrFailure, delivery)
    if (isOpen && result.reusable) return sessionOrFailure
    // When every recipient has a verdict, the rest of the conversation does not matter.
    if (!result.failure || ledger.isSettled()) return undefined
    hosts = hostsAfter(result.failure, { hosts, host, isIdle, mayRepeat })
    mayRepeat &&= result.failure.how !== 'garbage'
  }
}

function phaseReport({ onPhase }: DomainDelivery, { name }: Host): PhaseReport | undefined {
  return onPhase && ((phase, fromMs, toMs) => onPhase(phase, name, fromMs, toMs))
}

interface Try {
  hosts: Host[]
  host: Host
  isIdle: boolean
  mayRepeat: boolean
}

/** The hosts that may be tried after a try that failed before the dot. */
function hostsAfter({ phase, how }: Failure, { hosts, host, isIdle, mayRepeat }: Try): Host[] {
  // The connection died while it was idle.
  if (isIdle && phase === 'mail' && how !== 'left') return hosts
  if (how === 'garbage') return mayRepeat ? [host] : []
  const mayOtherHostHelp =
    how === 'refused' ? phase === 'greeting' || phase === 'ehlo' : ['closed', 'timeout', 'insecure'].includes(how)
  return mayOtherHostHelp ? hosts.filter(({ name }) => name !== host.name).slice(0, MAX_HOSTS - 1) : []
}

type Evidence = Pick<SmtpAttempt, 'mx' | 'ip' | 'tls' | 'reused'>

interface FailedTry {
  failure: Failure
  evidence: Evidence
}

/** The attempts of one delivery, as far as they are decided. */
function createLedger(delivery: DomainDelivery) {
  const attempts: (SmtpAttempt | undefined)[] = delivery.recipients.map(() => undefined)
  const timings: Timings[] = delivery.recipients.map(() => ({}))
  const failedTries: FailedTry[] = []
  let last: FailedTry | undefined
  /** The caller was asked for permission to send the dot, and may have noted that. */
  let isPermissionAsked = false

  function pending(): number[] {
    return [...attempts.keys()].filter((i) => attempts[i] === undefined)
  }

  function settle(i: number, verdict: Verdict, evidence: Evidence): void {
    const tried = failedTries.filter((each) => each.evidence !== evidence).map(triedHost)
    attempts[i] = {
      ...verdict,
      ...evidence,
      durationMs: performance.now() - delivery.startedAtMs,
      timings: timings[i]!,
      ...(tried.length > 0 && { tried }),
    }
  }

  /** The mail for the recipients without a verdict. */
  function mail(stopwatch: Stopwatch, signal?: AbortSignal): MailObject {
    const indexes = pending()
    const beforeDot = (accepted: number[]) => {
      isPermissionAsked = true
      return delivery.beforeDot(accepted.map((i) => indexes[i]!))
    }
    return { ...delivery, recipients: indexes.map((i) => delivery.recipients[i]!), beforeDot, signal, stopwatch }
  }

  function note({ verdicts, failure }: TransactionResult, evidence: Evidence, stopwatch: Stopwatch): void {
    for (const [position, i] of pending().entries()) {
      const verdict = verdicts[position]
      stopwatch.addTo(timings[i]!, position, verdict)
      if (verdict) settle(i, verdict, evidence)
    }
    if (!failure) return
    const failedTry = { failure, evidence }
    failedTries.push(failedTry)
    // A server's reply, or its lack of TLS, tells more than the silence of the next server.
    if (isTelling(failure) || !last || !isTelling(last.failure)) last = failedTry
  }

  /** The attempt of every recipient; `cause` is for a delivery that tried nothing. */
  function close(cause: string): SmtpAttempt[] {
    for (const i of pending()) {
      const { failure, evidence } = last ?? withoutTry(cause)
      const { phase, reply, detail } = failure
      const { outcome, reading } = judgeFailure(failure, evidence.mx ?? '', { recipient: delivery.recipients[i] })
      settle(i, { phase, reply, reading, detail, outcome: isPermissionAsked ? notOurs(outcome) : outcome }, evidence)
    }
    return attempts as SmtpAttempt[]
  }

  return { mail, note, close, isPermissionAsked: () => isPermissionAsked, isSettled: () => pending().length === 0 }
}

function triedHost({ failure: { phase, how, reply, detail = how }, evidence: { mx = '', ip, reused } }: FailedTry) {
  const words = reply ? [reply.code, reply.enhanced, reply.text].filter((word) => word).join(' ') : detail
  const tried: TriedHost = { mx, ip, phase, detail: reused ? `on a kept connection: ${words}` : words }
  return tried
}

function isTelling({ how, reply }: Failure): boolean {
  return reply !== undefined || how === 'insecure'
}

function withoutTry(cause: string): FailedTry {
  return { failure: { kind: 'failure', phase: 'connect', how: 'local', detail: cause }, evidence: { tls: null } }
}

/**
 * The caller may have noted that it was asked for permission, so "nothing was sent" is no longer a possible outcome.
 */
function notOurs(outcome: Outcome): Outcome {
  return outcome.kind === 'our_fault' ? { kind: 'bounced', reason: 'temporary_failure', retryable: true } : outcome
}
