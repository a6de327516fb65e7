import { NOTICE_KINDS } from '../../db/people-schema.ts'
import type { Definition } from '../instruments.ts'

/** Regular work: partitions, upkeep, statistics and sweep in the API; the others in the worker. */
const TASKS = [
  'partitions',
  'upkeep',
  'statistics',
  'bad_hours',
  'refusing_providers',
  'sweep',
  'notices',
  'hand_over',
  'resume_replays',
  'retention',
  'verification',
]

/** Regular work and protections. */
export const BACKGROUND = {
  taskRuns: {
    kind: 'counter',
    name: 'verdict_task_runs_total',
    help: 'Runs of regular work, by task and result.',
    labels: { task: TASKS, result: ['ok', 'failed'] },
  },
  taskSuccess: {
    kind: 'gauge',
    name: 'verdict_task_last_success_timestamp_seconds',
    help: 'When a task last succeeded in this process, in Unix seconds. Absent until then.',
    labels: { task: TASKS },
  },
  providerBadHours: {
    kind: 'counter',
    name: 'verdict_provider_bad_hours_total',
    help: 'Bad hours of mailbox providers that began: they refused addresses as unknown that took mail before.',
    labels: { provider: 50 },
    process: 'api',
  },
  notices: {
    kind: 'counter',
    name: 'verdict_notices_total',
    help: 'Attempts to send notifications, invitations and password resets, by kind, channel and result (again: retried later). A mail counts once for each trouble in it.',
    labels: {
      kind: NOTICE_KINDS,
      channel: ['mail', 'url'],
      result: ['sent', 'failed', 'cancelled', 'again'],
    },
    process: 'api',
  },
  invitations: {
    kind: 'counter',
    name: 'verdict_invitations_total',
    help: 'Invitations by people, by what became of them: mailed, link (without NOTIFY_FROM), mailing_ended (a complaint or three bounces of the day ended the mailing of the account), refused (over a limit).',
    labels: { result: ['mailed', 'link', 'mailing_ended', 'refused'] },
    process: 'api',
  },
  swept: {
    kind: 'counter',
    name: 'verdict_swept_sends_total',
    help: 'Sends that a crash left behind, by end: settled (in doubt) or released (nothing was sent).',
    labels: { end: ['settled', 'released'] },
    process: 'api',
  },
  archiveUnwrittenDays: {
    kind: 'gauge',
    name: 'verdict_archive_unwritten_days',
    help: 'Days of history that are over 88 days old and that HISTORY_ARCHIVE does not have, as the last daily run left them. Absent without an archive.',
    process: 'worker',
  },
  breakerChanges: {
    kind: 'counter',
    name: 'verdict_breaker_changes_total',
    help: 'Changes of circuit breakers, by their new state.',
    labels: { state: ['closed', 'open', 'half_open'] },
    process: 'api',
  },
  countedRequests: {
    kind: 'counter',
    name: 'verdict_limiter_requests_total',
    help: "Requests that the limiter counted against an account's limit, by result.",
    labels: { result: ['admitted', 'refused'] },
    process: 'api',
  },
} as const satisfies Record<string, Definition>
