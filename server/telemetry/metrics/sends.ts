import { DeliveryStatusSchema, ReasonSchema } from '../../../gen/verdict/v1/outcomes_pb.ts'
import { TIMES } from '../../../mail/smtp/attempt.ts'
import { PROVIDERS } from '../../../mail/smtp/shaping.ts'
import { shortNames } from '../../db/enum-names.ts'
import type { Definition } from '../instruments.ts'

/** What a recipient's server, or a check before it, decided. `none`: a delivery has no reason. */
const REASONS = ['none', ...shortNames(ReasonSchema)]
const STATUSES = shortNames(DeliveryStatusSchema)
/** `sandbox`: a dry run. `simulator`: an address of simulator.test. */
const MODES = ['live', 'sandbox', 'simulator']
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60]

/** Sends and their way to the recipients' servers. All of them are those of API processes. */
export const SENDS = {
  sends: {
    kind: 'counter',
    name: 'verdict_sends_total',
    help: 'Sends that ended, by result: answered, key_taken (a repeat), an error code, or outcome_unknown.',
    labels: {
      result: [
        'answered',
        'key_taken',
        'domain_not_verified',
        'rate_limit_exceeded',
        'transient_failure',
        'outcome_unknown',
        'client_left',
        'unexpected',
      ],
    },
    process: 'api',
  },
  recipients: {
    kind: 'counter',
    name: 'verdict_recipients_total',
    help: 'Recipients of answered sends, by mode (live, sandbox, simulator), status and reason.',
    labels: { mode: MODES, status: STATUSES, reason: REASONS },
    process: 'api',
  },
  providerRecipients: {
    kind: 'counter',
    name: 'verdict_provider_recipients_total',
    help: 'Live recipients whose server replied, by its provider, and whether it refused the sending address, its rate or its reputation.',
    labels: { provider: [...PROVIDERS.map(({ site }) => site), 'other'], result: ['sender_refused', 'other'] },
    process: 'api',
  },
  inDoubt: {
    kind: 'counter',
    name: 'verdict_in_doubt_recipients_total',
    help: 'Recipients whose outcome is unknown because the reply to the final dot was lost.',
    labels: { mode: MODES },
    process: 'api',
  },
  lateReplies: {
    kind: 'counter',
    name: 'verdict_late_replies_total',
    help: 'Replies to the final dot that came after the response had said in_doubt, by what they say.',
    labels: { outcome: ['delivered', 'bounced'] },
    process: 'api',
  },
  sendSeconds: {
    kind: 'histogram',
    name: 'verdict_send_duration_seconds',
    help: 'Duration of an answered send, from the first check to the stored outcome, by mode.',
    labels: { mode: MODES },
    bounds: SECONDS,
    process: 'api',
  },
  phaseSeconds: {
    kind: 'histogram',
    name: 'verdict_send_phase_duration_seconds',
    help: 'Time of a live recipient in each phase of the conversation with its server, DNS included; own: the waits of this service, some of them within a phase.',
    labels: { phase: TIMES },
    bounds: [0.001, 0.005, ...SECONDS],
    process: 'api',
  },
  smtpAttempts: {
    kind: 'counter',
    name: 'verdict_smtp_attempts_total',
    help: 'Live recipients that a server was tried for, by connection (new, reused) and TLS.',
    labels: { connection: ['new', 'reused'], tls: ['verified', 'unverified', 'none'] },
    process: 'api',
  },
  sendsInFlight: {
    kind: 'gauge',
    name: 'verdict_sends_in_flight',
    help: 'Sends that run at this moment.',
    process: 'api',
  },
} as const satisfies Record<string, Definition>
