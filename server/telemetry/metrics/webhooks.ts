import { POST_OUTCOMES } from '../../webhooks/post/post-outcomes.ts'
import type { Definition } from '../instruments.ts'

/** Webhooks and their workflows. */
export const WEBHOOKS = {
  webhookAttempts: {
    kind: 'counter',
    name: 'verdict_webhook_attempts_total',
    help: 'Attempts of webhooks, by attempt (first or retry) and outcome.',
    labels: { attempt: ['first', 'retry'], outcome: POST_OUTCOMES },
  },
  webhookSeconds: {
    kind: 'histogram',
    name: 'verdict_webhook_attempt_duration_seconds',
    help: 'Duration of an attempt of a webhook, from the wait for a slot to the end of the response.',
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  firstAttempts: {
    kind: 'gauge',
    name: 'verdict_webhook_first_attempts',
    help: 'Events whose first attempt this process makes: in flight, and queued.',
    labels: { state: ['in_flight', 'queued'] },
    process: 'api',
  },
  firstAttemptsLeft: {
    kind: 'counter',
    name: 'verdict_webhook_first_attempts_left_total',
    help: 'Events whose first attempt was left to a workflow, because of a full queue or a busy endpoint.',
    process: 'api',
  },
  workflowsStarted: {
    kind: 'counter',
    name: 'verdict_workflows_started_total',
    help: 'Workflows that were started: for retries, for the replay of an event or message, for that of many events.',
    labels: { kind: ['retries', 'replay', 'range_replay'] },
  },
  workflowsRevived: {
    kind: 'counter',
    name: 'verdict_workflows_revived_total',
    help: 'Workflows that replaced one that was gone although attempts were due.',
    process: 'worker',
  },
  temporalUp: {
    kind: 'gauge',
    name: 'verdict_temporal_up',
    help: '1 while Temporal answers this process, 0 while retries and replays wait for it.',
  },
} as const satisfies Record<string, Definition>
