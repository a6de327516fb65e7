import type { SkippedHost, SmtpAttempt, Timings, TriedHost, Verdict } from './attempt.ts'
import { type Failure, judgeFailure } from './failure.ts'
import type { OwnTime } from './own-time.ts'
import { wordsOf } from './reply.ts'
import type { Session } from './session.ts'

export type Evidence = Pick<SmtpAttempt, 'mx' | 'ip' | 'tls' | 'reused' | 'transaction'>

/** A try that did not decide, with the verdict of a server that postponed the recipient. */
interface FailedTry {
  failure: Failure
  evidence: Evidence
  postponement?: Verdict
}

export interface IndexedAddress {
  /** Its index in the delivery. */
  index: number
  address: string
}

/** A recipient of a delivery, and what is known of it. */
export interface QueuedRecipient extends IndexedAddress {
  timings: Timings
  failedTries: FailedTry[]
  /** The try that ends the recipient when no other one decides. */
  last: FailedTry | undefined
  /** The next transaction with it has no other recipient. */
  isAlone?: true
  /** How many connections were opened for it and have carried a transaction with it, and the last of them. */
  connections: number
  connection?: Session
}

export interface SettledRecipient {
  index: number
  attempt: SmtpAttempt
}

/** One connection, and a further one where the first was about the session and not about the recipient. */
const MAX_CONNECTIONS = 2

interface QueueParts {
  startedAtMs: number
  own: Pick<OwnTime, 'ms'>
  skipped?: readonly SkippedHost[]
}

/**
 * The recipients of one delivery: which of them wait for a transaction, and the attempts of those that are decided.
 * Between `take` and `settle`, `postpone` or `fail` a recipient is in a transaction.
 */
export class RecipientQueue {
  readonly #startedAtMs: number
  readonly #own: QueueParts['own']
  readonly #waiting: Set<QueuedRecipient>
  readonly #settled: SettledRecipient[] = []
  #lastEvidence: Evidence | undefined

  constructor(recipients: readonly IndexedAddress[], { startedAtMs, own, skipped = [] }: QueueParts) {
    this.#startedAtMs = startedAtMs
    this.#own = own
    this.#waiting = new Set(
      recipients.map(({ index, address }) => {
        return { index, address, timings: {}, failedTries: [], last: undefined, connections: 0 }
      }),
    )
    this.skip(skipped)
  }

  /** Notes hosts that could not be looked up, for the recipients that wait. */
  skip(hosts: readonly SkippedHost[]): void {
    for (const host of hosts) {
      const skipped = skippedTry(host)
      for (const recipient of this.#waiting) {
        if (!host.isPart) recipient.failedTries.push(skipped)
        if (!recipient.last || weightOf(skipped) > weightOf(recipient.last)) recipient.last = skipped
      }
    }
  }

  /** The recipients that wait, in their order. */
  get waiting(): ReadonlySet<QueuedRecipient> {
    return this.#waiting
  }

  /** Takes at most `max` recipients out of the queue, for a transaction over this session. */
  take(session: Session, max: number, isOpenedForThem: boolean): QueuedRecipient[] {
    const waiting = [...this.#waiting]
    const [first] = waiting
    const taken = first?.isAlone ? [first] : waiting.filter(({ isAlone }) => !isAlone).slice(0, max)
    for (const recipient of taken) {
      this.#waiting.delete(recipient)
      if (isOpenedForThem) countConnection(recipient, session)
    }
    return taken
  }

  settle(recipient: QueuedRecipient, verdict: Verdict, evidence: Evidence): void {
    const { index, timings, failedTries } = recipient
    const durationMs = performance.now() - this.#startedAtMs
    this.#waiting.delete(recipient)
    this.#lastEvidence = evidence
    timings.own = this.#own.ms()
    const tried = failedTries.filter((each) => each.evidence !== evidence).map(triedHost)
    const attempt = { ...verdict, ...evidence, durationMs, timings, ...(tried.length > 0 && { tried }) }
    this.#settled.push({ index, attempt })
  }

  /** The reply is no verdict on the recipient, which waits for another transaction. */
  postpone(recipient: QueuedRecipient, verdict: Verdict, evidence: Evidence): void {
    const { phase, reply } = verdict
    const failure: Failure = { kind: 'failure', phase, how: 'refused', reply }
    this.#addTry(recipient, { failure, evidence, postponement: verdict })
  }

  /** The refusal was of several recipients and not about this one, which waits for a transaction without others. */
  askAlone(recipient: QueuedRecipient, verdict: Verdict, evidence: Evidence): void {
    recipient.isAlone = true
    this.postpone(recipient, verdict, evidence)
  }

  /** A try failed before the dot for these recipients, which wait for another one. */
  fail(recipients: Iterable<QueuedRecipient>, failure: Failure, evidence: Evidence): void {
    for (const recipient of recipients) this.#addTry(recipient, { failure, evidence })
  }

  #addTry(recipient: QueuedRecipient, failedTry: FailedTry): void {
    recipient.failedTries.push(failedTry)
    if (!recipient.last || weightOf(failedTry) >= weightOf(recipient.last)) recipient.last = failedTry
    this.#waiting.add(recipient)
  }

  /**
   * The attempt of every recipient. `cause` is for those that were not tried; `isOurs` says that this was our fault and
   * no lack of time.
   */
  close(cause: string, isOurs: boolean): SettledRecipient[] {
    for (const recipient of [...this.#waiting]) {
      const { last, address } = recipient
      const evidence = this.#lastEvidence
      if (last && !(isOurs && last.failure.how === 'skipped'))
        this.settle(recipient, last.postponement ?? verdictOn(last, address), last.evidence)
      else if (evidence && !isOurs) this.settle(recipient, NO_TIME_LEFT, { ...evidence, transaction: undefined })
      else this.settle(recipient, verdictOn(withoutTry(cause), address), { tls: null })
    }
    return this.#settled
  }

  /** The indexes of those that wait after a refusal of their dot: they have no message. */
  refused(): number[] {
    return [...this.#waiting].filter(isDotRefused).map(({ index }) => index)
  }
}

const isDotRefused = ({ isAlone, last }: QueuedRecipient) => isAlone || last?.postponement?.phase === 'dot'

export const mayConnectAgain = ({ connections }: QueuedRecipient) => connections < MAX_CONNECTIONS

function countConnection(recipient: QueuedRecipient, session: Session): void {
  if (recipient.connection !== session) recipient.connections++
  recipient.connection = session
}

/** Why the try that follows is in clear. */
export function noteWithoutTls(recipients: Iterable<QueuedRecipient>, failure: Failure, { mx }: Evidence): void {
  const { ip, tls = null } = failure
  for (const { failedTries } of recipients) failedTries.push({ failure, evidence: { mx, ip, tls } })
}

/** The recipients that a limit kept out of the transactions that there was time for. */
const NO_TIME_LEFT: Verdict = {
  phase: 'mail',
  outcome: { kind: 'bounced', reason: 'temporary_failure', retryable: true },
  detail: 'no time was left for a further transaction',
}

function verdictOn({ failure, evidence }: FailedTry, recipient: string): Verdict {
  const { phase, reply, detail } = failure
  const { outcome, reading } = judgeFailure(failure, evidence.mx ?? '', { recipient })
  return { phase, reply, reading, detail, outcome }
}

function triedHost({ failure: { phase, how, reply, detail = how }, evidence: { mx = '', ip, reused } }: FailedTry) {
  const words = reply ? wordsOf(reply) : detail
  const tried: TriedHost = { mx, ip, phase, detail: reused ? `on a kept connection: ${words}` : words }
  return tried
}

function skippedTry({ mx, detail, isOurs }: SkippedHost): FailedTry {
  const how = isOurs ? 'local' : 'skipped'
  return { failure: { kind: 'failure', phase: 'dns', how, detail }, evidence: { mx, tls: null } }
}

/**
 * A server's reply tells more than a fault of ours. That tells more than another host's lack of TLS, because the host
 * that we could not judge may have TLS, and than silence.
 */
function weightOf({ failure: { how, reply } }: FailedTry): number {
  if (how === 'local' || how === 'left' || how === 'unreachable') return 3
  if (how === 'insecure') return 2
  if (how === 'other_family') return 0
  return reply === undefined ? 1 : 4
}

function withoutTry(cause: string): FailedTry {
  return { failure: { kind: 'failure', phase: 'connect', how: 'local', detail: cause }, evidence: { tls: null } }
}
