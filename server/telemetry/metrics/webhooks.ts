import type { Definition } from '../instruments.ts'

const OUTCOMES = [
  'acked',
  'dns',
  'blocked',
  'tls',
  'connect',
  'timeout_head',
  'timeout_body',
  'not_200',
  'success_but_not_200',
]

/** Webhooks and their workflows. */
export const WEBHOOKS = {
  webhookAttempts: {
    kind: 'counter',
    name: 'verdict_webhook_attempts_total',
    help: 'Attempts of webhooks, by attempt (first or retry) and outcome.',
    labels: { attempt: ['first', 'retry'], outcome: OUTCOMES },
  },
  webhookSeconds: {
    kind: 'histogram',
    name: 'verdict_webhook_attempt_duration_seconds',
    help: 'Duration of an attempt of a webhook, from the wait for a slot to the end of the response.',
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
} as const satisfies Record<string, Definition>
