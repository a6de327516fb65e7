import type { Attempt, Host, Outcome, Site, Verdict } from './attempt.ts'
import type { WireContent } from './content.ts'
import type { Mail } from './envelope.ts'
import { type Failure, outcomeOf } from './failure.ts'
import type { createLateReplies } from './late-replies.ts'
import { type Deadlines, siteLimitsOf } from './limits.ts'
import type { createPool } from './pool.ts'
import { openSession, type Session, type SessionOptions } from './session.ts'
import { type Result, transact } from './transaction.ts'

/** One message to the recipients of one site. */
export interface SiteDelivery {
  site: Site
  sourceAddress?: string
  turn?: string
  sender: string
  recipients: string[]
  content: WireContent
  reference?: string
  startedAtMs: number
  deadlines: Deadlines
  commandMs: number
  /** As in `Delivery`, with indexes into `recipients` here. */
  beforeDot(accepted: number[]): Promise<boolean>
  signal?: AbortSignal
}

export interface SiteTools {
  pool: ReturnType<typeof createPool>
  lateReplies: ReturnType<typeof createLateReplies>
  opening: SessionOptions
}

type Ledger = ReturnType<typeof createLedger>

const HOSTS = 2

/** One attempt at each recipient, in their order. */
export async function deliverToSite(tools: SiteTools, delivery: SiteDelivery): Promise<Attempt[]> {
  const { site, sourceAddress = '', turn = '', deadlines, signal } = delivery
  const ledger = createLedger(delivery)
  const limits = site.limits ?? siteLimitsOf(site.hosts[0]?.name ?? '')
  const place = { key: `${sourceAddress} ${site.key}`, limits }
  const slot = await tools.pool.take(place, { turn, untilMs: deadlines.slotMs, signal })
  if (slot.kind === 'none') return ledger.close(slot.cause)
  let session: Session | undefined
  try {
    session = await converse(tools, delivery, ledger, slot.session)
  } finally {
    slot.free(session)
  }
  return ledger.close('no time was left')
}

/** Over an idle session or a new one, and to another host where the rules allow it. Gives back what can be used again. */
async function converse(tools: SiteTools, delivery: SiteDelivery, ledger: Ledger, idle?: Session) {
  const { site } = delivery
  const { dotMs } = delivery.deadlines
  let hosts = site.hosts.slice(0, HOSTS)
  let mayRepeat = true
  let session = idle
  while (session || (hosts.length > 0 && performance.now() < dotMs)) {
    const host = session?.host ?? hosts[0]!
    const isIdle = session !== undefined
    const signal = ledger.isAsked() ? undefined : delivery.signal
    const call = { ...delivery, host, tlsDemandedBy: site.tlsDemandedBy, untilMs: dotMs, signal }
    const opened = session ?? (await openSession(tools.opening, call))
    session = undefined
    const isOpen = opened.kind === 'session'
    const result: Result = isOpen
      ? await transact(opened, ledger.mail(signal))
      : { verdicts: [], failure: opened, reusable: false }
    ledger.note(result, { mx: host.name, ip: opened.ip, tls: opened.tls ?? null })
    if (isOpen && result.replyMayCome) tools.lateReplies.waitFor(opened, delivery)
    if (isOpen && result.reusable) return opened
    // When all have been refused, it does not matter how the rest of the conversation went.
    if (!result.failure || ledger.isSettled()) return undefined
    hosts = hostsAfter(result.failure, { hosts, host, isIdle, mayRepeat })
    mayRepeat &&= result.failure.how !== 'garbage'
  }
}

interface Try {
  hosts: Host[]
  host: Host
  isIdle: boolean
  mayRepeat: boolean
}

/** The hosts that may still be tried after a try that failed before the dot. */
function hostsAfter({ phase, how }: Failure, { hosts, host, isIdle, mayRepeat }: Try): Host[] {
  // The connection had died while it was idle.
  if (isIdle && phase === 'mail' && how !== 'left') return hosts
  if (how === 'garbage') return mayRepeat ? [host] : []
  const isElsewhereBetter =
    how === 'refused' ? phase === 'greeting' || phase === 'ehlo' : ['closed', 'timeout', 'insecure'].includes(how)
  return isElsewhereBetter ? hosts.filter(({ name }) => name !== host.name).slice(0, HOSTS - 1) : []
}

type Evidence = Pick<Attempt, 'mx' | 'ip' | 'tls'>

interface FailedTry {
  failure: Failure
  evidence: Evidence
}

/** What has become of each recipient so far. */
function createLedger(delivery: SiteDelivery) {
  const attempts: (Attempt | undefined)[] = delivery.recipients.map(() => undefined)
  let last: FailedTry | undefined
  let isAsked = false

  function pending(): number[] {
    return [...attempts.keys()].filter((i) => attempts[i] === undefined)
  }

  function settle(i: number, verdict: Verdict, evidence: Evidence): void {
    attempts[i] = { ...verdict, ...evidence, durationMs: performance.now() - delivery.startedAtMs }
  }

  /** The mail for those without a verdict. */
  function mail(signal?: AbortSignal): Mail {
    const some = pending()
    const beforeDot = (accepted: number[]) => {
      isAsked = true
      return delivery.beforeDot(accepted.map((i) => some[i]!))
    }
    return { ...delivery, recipients: some.map((i) => delivery.recipients[i]!), beforeDot, signal }
  }

  function note({ verdicts, failure }: Result, evidence: Evidence): void {
    const some = pending()
    for (const [i, verdict] of verdicts.entries()) if (verdict) settle(some[i]!, verdict, evidence)
    // A server's own words, or its lack of TLS, say more than the silence of the next one.
    if (failure && (isTelling(failure) || !last || !isTelling(last.failure))) last = { failure, evidence }
  }

  /** Everybody's attempt; `cause` is for those nothing was tried for. */
  function close(cause: string): Attempt[] {
    for (const i of pending()) {
      const { failure, evidence } = last ?? nothingTried(cause)
      const { phase, reply, detail } = failure
      const outcome = outcomeOf(failure, evidence.mx ?? '')
      settle(i, { phase, reply, detail, outcome: isAsked ? notOurs(outcome) : outcome }, evidence)
    }
    return attempts as Attempt[]
  }

  return { mail, note, close, isAsked: () => isAsked, isSettled: () => pending().length === 0 }
}

function isTelling({ how, reply }: Failure): boolean {
  return reply !== undefined || how === 'insecure'
}

function nothingTried(cause: string): FailedTry {
  return { failure: { kind: 'failure', phase: 'connect', how: 'local', detail: cause }, evidence: { tls: null } }
}

/** Once the caller was asked for leave he may have noted it: "nothing happened" is no longer an answer. */
function notOurs(outcome: Outcome): Outcome {
  return outcome.kind === 'our_fault' ? { kind: 'bounced', reason: 'temporary_failure', retryable: true } : outcome
}
