import { timestampMs } from '@bufbuild/protobuf/wkt'
import type {
  GetOverviewResponse,
  QuotaUse,
  RefusingProvider,
  WebhookState,
} from '../../gen/verdict/admin/v1/overview_pb.ts'
import { SendingState } from '../../gen/verdict/v1/stats_pb.ts'
import { isNearQuota } from '../account/quota.ts'
import { failureToneOf } from '../attempts/endpoint-health.ts'
import { endpointName } from '../attempts/endpoint-name.ts'
import { DOUBTFUL } from '../messages/message-filters.ts'
import { providerName } from '../numbers/groups.ts'
import { countOf } from '../numbers/quantities.ts'
import { msOf } from '../time/ms-of.ts'
import { lengthOf, relativeTime } from '../time/times.ts'
import type { HealthFinding } from './finding.ts'
import { postmasterOf } from './postmasters.ts'
import { faultsOf, type ReadinessChecks } from './readiness.ts'

/** An endpoint that waits longer than this for an attempt has missed several. */
const LONG_WAIT_MS = 10 * 60_000

const toneOf = ({ failedSince, lastAcknowledgedAt }: WebhookState) =>
  failureToneOf({ failedSince, hasAcknowledged: lastAcknowledgedAt !== undefined })

type HealthRule = (overview: GetOverviewResponse, nowMs: number) => HealthFinding[]

/** A rule that looks at each endpoint. It names the endpoint when there are several. */
function forEachEndpoint(rule: (endpoint: WebhookState, nowMs: number, name: string) => HealthFinding[]): HealthRule {
  return ({ endpoints }, nowMs) =>
    endpoints.flatMap((endpoint) => {
      const name = endpoints.length === 1 ? '' : ` ${endpointName(endpoint)}`
      return rule(endpoint, nowMs, name)
    })
}

/** What can be wrong, the worst first. */
const RULES: HealthRule[] = [
  ({ quota }) =>
    quota && quota.used >= quota.quota
      ? [
          {
            tone: 'error',
            sentence: `The quota of ${countOf(quota.quota)} emails a month is used up. Sending resumes on ${dayOf(quota)}, after the month ends (UTC).`,
            page: 'settings/limits',
          },
        ]
      : [],
  ({ domains }) =>
    domains
      .filter(({ sending }) => sending === SendingState.PAUSED)
      .map(({ domain }) => ({
        tone: 'error',
        sentence: `Sending from ${domain} is paused, because too much of its mail bounced or led to complaints.`,
        page: 'domains',
      })),
  ({ refusingProviders }) =>
    refusingProviders.map((refusing) => ({
      tone: 'error',
      sentence: refusalSentence(refusing),
      words: refusing.reply,
      askAt: postmasterOf(refusing.provider),
      page: 'messages',
      search: { bounced_by: refusing.provider, reason: 'policy_block' },
    })),
  forEachEndpoint((endpoint, nowMs, name) => {
    const tone = toneOf(endpoint)
    if (!tone) return []
    const { failedSince, lastAcknowledgedAt } = endpoint
    const failed =
      failedSince === 1
        ? `The last attempt at your webhook endpoint${name} failed.`
        : `Your webhook endpoint${name} fails: the last ${countOf(failedSince)} attempts failed.`
    const since = lastAcknowledgedAt
      ? `It last acknowledged an event ${relativeTime(timestampMs(lastAcknowledgedAt), nowMs)}.`
      : 'It has never acknowledged an event.'
    return [{ tone, sentence: `${failed} ${since}`, page: 'events' }]
  }),
  forEachEndpoint((endpoint, nowMs, name) => {
    if (!endpoint.oldestWaiting || toneOf(endpoint) === 'error') return []
    const waitedMs = nowMs - timestampMs(endpoint.oldestWaiting)
    if (waitedMs < LONG_WAIT_MS) return []
    const events = endpoint.waiting === 1 ? 'One event waits' : `${endpoint.waiting} events wait`
    return [
      {
        tone: 'warning',
        sentence: `${events} for your endpoint${name}, the oldest for ${lengthOf(waitedMs)}.`,
        page: 'events',
      },
    ]
  }),
  ({ domains }) =>
    domains
      .filter(({ sending }) => sending === SendingState.THROTTLED)
      .map(({ domain }) => ({
        tone: 'warning',
        sentence: `${domain} is at risk of being paused: too much of its mail bounces or leads to complaints.`,
        page: 'domains',
      })),
  ({ quota }) =>
    quota && isNearQuota(quota) && quota.used < quota.quota
      ? [
          {
            tone: 'warning',
            sentence: `${countOf(quota.used)} of ${countOf(quota.quota)} emails of this month are sent. The count starts again on ${dayOf(quota)} (UTC).`,
            page: 'settings/limits',
          },
        ]
      : [],
  ({ refusedSends }) =>
    refusedSends === 0
      ? []
      : [
          {
            tone: 'warning',
            sentence: `${refusedSends === 1 ? 'One send' : `${countOf(refusedSends)} sends`} of the last 24 hours ended with an error: nothing was sent.`,
            page: 'refused-sends',
          },
        ],
  ({ inDoubt }) =>
    inDoubt === 0
      ? []
      : [
          {
            tone: 'doubt',
            sentence: `${inDoubt === 1 ? 'One email is' : `${inDoubt} emails are`} in doubt: the connection ended after the message and before the reply.`,
            page: 'messages',
            search: DOUBTFUL,
          },
        ],
]

/** Names what the reply refuses before the counts: people act on that. */
function refusalSentence({ provider, names, emails, blocked }: RefusingProvider): string {
  const what = names === '' ? 'your mail' : `mail of ${isAddress(names) ? `the sending address ${names}` : names}`
  const counts = `It blocked ${countOf(blocked)} of ${countOf(emails)} emails in the last hour.`
  return `${providerName(provider)} refuses ${what}. ${counts}`
}

/** No name of a host has only digits and dots, or a colon. */
const isAddress = (name: string) => /^[\d.]+$|:/.test(name)

/** The first day after the month: `2026-02-01`. */
const dayOf = ({ endsAt }: QuotaUse) => new Date(msOf(endsAt)).toISOString().slice(0, 10)

const ALL_GOOD: HealthFinding = { tone: 'delivered', sentence: 'All good.' }

/** What is wrong right now, the worst first; that all is good when nothing is. `checks` are those of `/readyz`. */
export function findingsOf(overview: GetOverviewResponse, checks: ReadinessChecks, nowMs: number): HealthFinding[] {
  const findings = [...faultsOf(checks), ...RULES.flatMap((rule) => rule(overview, nowMs))]
  return findings.length > 0 ? findings : [ALL_GOOD]
}
