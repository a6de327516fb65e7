import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  Reason,
  type RecipientOutcome,
  type SuppressionReason,
  SuppressionSchema,
  SuppressionScope,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { parseAddress } from '../../mail/address.ts'
import type { SmtpAttempt, TimedPhase, Timings } from '../../mail/smtp/attempt.ts'
import { classify } from '../../mail/smtp/classify.ts'
import { delivered, outcomeOfAttempt, rejected } from '../../server/sending/outcome.ts'
import type { Recipient } from '../../server/sending/recipients.ts'
import type { Random } from './random.ts'
import type { PlannedRecipient } from './week.ts'

// How an email of the demo ends: a conversation that a mail server could have had, read by the rules of the service.

type DemoPhase = Exclude<TimedPhase, 'dns'>

/** The round trips that each phase takes, in their order. */
const TRIPS: Record<DemoPhase, number> = {
  connect: 1,
  greeting: 1.5,
  ehlo: 2,
  starttls: 3,
  mail: 1,
  rcpt: 1.5,
  data: 1,
  dot: 9,
}
const PHASES = Object.keys(TRIPS) as DemoPhase[]
/** A connection is given up after this time. */
const GIVEN_UP_MS = 12_000

export interface Ended {
  outcome: RecipientOutcome
  /** From the start of the send, in milliseconds. */
  durationMs: number
}

/** An address that an earlier bounce or complaint has suppressed. */
export interface SuppressedAddress {
  sinceMs: number
  cause: SuppressionReason
  /** For one tenant, otherwise for the whole account. */
  isOfTenant: boolean
}

export const recipientOf = ({ email }: PlannedRecipient): Recipient => ({ address: parseAddress(email)!, kind: 'to' })

/** How the recipient's server ended an email. `transaction` is set when a message has several recipients. */
export function endOf(random: Random, planned: PlannedRecipient, transaction?: number): Ended {
  const dnsMs = tenths(random.share() < 0.8 ? 0.2 + random.share() : 4 + random.share() * 30)
  const attempt = { ...attemptOf(random, planned), transaction }
  return { outcome: outcomeOfAttempt(recipientOf(planned), attempt, dnsMs), durationMs: attempt.durationMs }
}

/** An email that was refused before anything was sent, because an earlier one to the address had bounced. */
export function suppressedOf(planned: PlannedRecipient, { sinceMs, cause, isOfTenant }: SuppressedAddress): Ended {
  const outcome = rejected(recipientOf(planned), Reason.SUPPRESSION_LIST)
  outcome.suppression = create(SuppressionSchema, {
    scope: isOfTenant ? SuppressionScope.TENANT : SuppressionScope.ACCOUNT,
    cause,
    since: timestampFromMs(sinceMs),
  })
  return { outcome, durationMs: 3 }
}

/** A dry run that passed every check. */
export const dryRunOf = (planned: PlannedRecipient): Ended => ({
  outcome: delivered(recipientOf(planned)),
  durationMs: 5,
})

function attemptOf(random: Random, { email, domain, ending }: PlannedRecipient): SmtpAttempt {
  const { mx, ip, verifiedTls, accepted } = domain
  const server = {
    mx,
    ip,
    tls: { version: 'TLSv1.3', verified: verifiedTls, ...(verifiedTls && { by: 'pkix' as const }) },
  }
  if (ending === 'connection_timeout') {
    const timings = { connect: GIVEN_UP_MS }
    const outcome = { kind: 'bounced', reason: 'connection_timeout', retryable: true } as const
    return { mx, ip, tls: null, phase: 'connect', outcome, detail: `ETIMEDOUT ${ip}`, timings, durationMs: GIVEN_UP_MS }
  }
  if (ending === 'in_doubt') {
    const timings = timingsUpTo(random, domain.roundTripMs, 'data')
    const detail = 'the connection ended before the reply to the message'
    return { ...server, phase: 'after_dot', outcome: { kind: 'in_doubt' }, detail, timings, durationMs: sumOf(timings) }
  }
  const phase = ending === 'delivered' ? 'dot' : ending.phase
  const reply = ending === 'delivered' ? accepted(random.hex(16)) : ending.reply(email)
  const timings = timingsUpTo(random, domain.roundTripMs, phase)
  return { ...server, phase, reply, ...classify({ phase, reply, mx }), timings, durationMs: sumOf(timings) }
}

function timingsUpTo(random: Random, roundTripMs: number, last: DemoPhase): Timings {
  // A few servers look at a message for seconds.
  const slow = random.share() < 0.03 ? 6 : 1
  const phases = PHASES.slice(0, PHASES.indexOf(last) + 1)
  return Object.fromEntries(
    phases.map((phase) => [
      phase,
      tenths(TRIPS[phase] * roundTripMs * (0.7 + random.share() * 0.8) * (phase === 'dot' ? slow : 1)),
    ]),
  )
}

const tenths = (ms: number) => Math.round(ms * 10) / 10
const sumOf = (timings: Timings) => Math.round(Object.values(timings).reduce((sum, ms) => sum + ms, 0))
