import type { SmtpAttempt, Timings, TriedHost, Verdict } from './attempt.ts'
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

/** What is known of one recipient. */
interface Entry {
  address: string
  attempt?: SmtpAttempt
  timings: Timings
  failedTries?: FailedTry[]
  /** The try that ends the recipient when no other one decides. */
  last?: FailedTry
  /** The next transaction with it has no other recipient. */
  isAlone?: true
  /** How many connections were opened for it and have carried a transaction with it, and the last of them. */
  connections: number
  connection?: Session
}

/** One connection, and a further one where the first was about the session and not about the recipient. */
const MAX_CONNECTIONS = 2

interface LedgerParts {
  startedAtMs: number
  own: Pick<OwnTime, 'ms'>
  skipped?: readonly TriedHost[]
}

export type Ledger = ReturnType<typeof createLedger>

/**
 * The recipients of one delivery: which of them wait for a transaction, and the attempts of those that are decided.
 * Between `take` and `settle`, `postpone` or `fail` a recipient is in a transaction.
 */
export function createLedger(addresses: readonly string[], { startedAtMs, own, skipped }: LedgerParts) {
  const skippedTries = skipped?.map(skippedTry)
  const entries: Entry[] = addresses.map((address) => ({
    address,
    timings: {},
    connections: 0,
    ...(skippedTries && { failedTries: [...skippedTries], last: skippedTries[0] }),
  }))
  const queue = new Set(entries.keys())
  let lastEvidence: Evidence | undefined

  /** Takes at most `max` recipients out of the queue, for a transaction over this session. */
  function take(session: Session, max: number, isOpenedForThem: boolean): number[] {
    const waiting = [...queue]
    const [first] = waiting
    const together = waiting.filter((i) => !entries[i]!.isAlone)
    const indexes = first !== undefined && entries[first]!.isAlone ? [first] : together.slice(0, max)
    for (const i of indexes) {
      queue.delete(i)
      if (isOpenedForThem) countConnection(entries[i]!, session)
    }
    return indexes
  }

  function settle(i: number, verdict: Verdict, evidence: Evidence): void {
    const entry = entries[i]!
    const durationMs = performance.now() - startedAtMs
    queue.delete(i)
    lastEvidence = evidence
    entry.timings.own = own.ms()
    entry.attempt = { ...verdict, ...evidence, durationMs, timings: entry.timings }
    if (!entry.failedTries) return
    const tried = entry.failedTries.filter((each) => each.evidence !== evidence).map(triedHost)
    if (tried.length > 0) entry.attempt.tried = tried
  }

  /** The reply is no verdict on the recipient, which waits for another transaction. */
  function postpone(i: number, verdict: Verdict, evidence: Evidence): void {
    const { phase, reply } = verdict
    addTry(i, { failure: { kind: 'failure', phase, how: 'refused', reply }, evidence, postponement: verdict })
  }

  /** The refusal was of several recipients and not about this one, which waits for a transaction without others. */
  function askAlone(i: number, verdict: Verdict, evidence: Evidence): void {
    entries[i]!.isAlone = true
    postpone(i, verdict, evidence)
  }

  /** A try failed before the dot for these recipients, which wait for another one. */
  function fail(indexes: Iterable<number>, failure: Failure, evidence: Evidence): void {
    for (const i of indexes) addTry(i, { failure, evidence })
  }

  /** Why the try that follows is in clear. */
  function noteWithoutTls(indexes: Iterable<number>, failure: Failure, { mx }: Evidence): void {
    const { ip, tls = null } = failure
    for (const i of indexes) noteTry(entries[i]!, { failure, evidence: { mx, ip, tls } })
  }

  function addTry(i: number, failedTry: FailedTry): void {
    const entry = entries[i]!
    noteTry(entry, failedTry)
    // A server's reply, or its lack of TLS, tells more than the silence of the next server.
    if (isTelling(failedTry.failure) || !entry.last || !isTelling(entry.last.failure)) entry.last = failedTry
    queue.add(i)
  }

  /**
   * The attempt of every recipient. `cause` is for those that were not tried; `isOurs` says that this was our fault and
   * no lack of time.
   */
  function close(cause: string, isOurs: boolean): SmtpAttempt[] {
    for (const i of [...queue]) {
      const { last, address } = entries[i]!
      if (last?.postponement) settle(i, last.postponement, last.evidence)
      else if (last) settle(i, verdictOn(last, address), last.evidence)
      else if (lastEvidence && !isOurs) settle(i, NO_TIME_LEFT, { ...lastEvidence, transaction: undefined })
      else settle(i, verdictOn(withoutTry(cause), address), { tls: null })
    }
    return entries.map(({ attempt }) => attempt!)
  }

  return {
    take,
    settle,
    postpone,
    askAlone,
    fail,
    noteWithoutTls,
    close,
    timings: (i: number) => entries[i]!.timings,
    address: (i: number) => entries[i]!.address,
    mayConnectAgain: (i: number) => entries[i]!.connections < MAX_CONNECTIONS,
    queued: (): ReadonlySet<number> => queue,
    /** Those of them whose dot was refused, so they have no message. */
    refused: (): number[] => [...queue].filter((i) => isDotRefused(entries[i]!)),
  }
}

const isDotRefused = ({ isAlone, last }: Entry) => isAlone || last?.postponement?.phase === 'dot'

function noteTry(entry: Entry, failedTry: FailedTry): void {
  entry.failedTries ??= []
  entry.failedTries.push(failedTry)
}

function countConnection(entry: Entry, session: Session): void {
  if (entry.connection !== session) entry.connections++
  entry.connection = session
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

/** Its TLSA records may come the next time. */
function skippedTry({ mx, phase, detail }: TriedHost): FailedTry {
  return { failure: { kind: 'failure', phase, how: 'skipped', detail }, evidence: { mx, tls: null } }
}

function isTelling({ how, reply }: Failure): boolean {
  return reply !== undefined || how === 'insecure'
}

function withoutTry(cause: string): FailedTry {
  return { failure: { kind: 'failure', phase: 'connect', how: 'local', detail: cause }, evidence: { tls: null } }
}
