import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import { failureToneOf } from '../../dashboard/attempts/endpoint-health.ts'
import { findingsOf } from '../../dashboard/overview/health.ts'
import { faultsOf, type ReadinessChecks } from '../../dashboard/overview/readiness.ts'
import { GetOverviewResponseSchema } from '../../gen/verdict/admin/v1/overview_pb.ts'

test.for([
  [0, false, undefined],
  [0, true, undefined],
  [1, true, 'warning'],
  [2, true, 'warning'],
  [3, true, 'error'],
  [1, false, 'error'],
] as const)(
  '%i failures of an endpoint that has acknowledged before (%s) are shown as %s',
  ([failedSince, hasAcknowledged, tone]) => {
    expect(failureToneOf({ failedSince, hasAcknowledged })).toBe(tone)
  },
)

const NOW = Date.UTC(2026, 10, 22, 12)
const shown = (failedSince: number, acknowledgedMsAgo?: number) =>
  findingsOf(
    create(GetOverviewResponseSchema, {
      endpoints: [
        {
          url: 'https://hooks.example.com',
          failedSince,
          lastAcknowledgedAt: acknowledgedMsAgo === undefined ? undefined : timestampFromMs(NOW - acknowledgedMsAgo),
        },
      ],
    }),
    {},
    NOW,
  )

test('the overview names an endpoint that fails from its first failure on', () => {
  expect(shown(0, 5_000)).toMatchObject([{ tone: 'delivered', sentence: 'All good.' }])
  expect(shown(2)).toMatchObject([
    {
      tone: 'error',
      sentence: 'Your webhook endpoint fails: the last 2 attempts failed. It has never acknowledged an event.',
    },
  ])
  expect(shown(1, 60_000)).toMatchObject([
    {
      tone: 'warning',
      sentence: 'The last attempt at your webhook endpoint failed. It last acknowledged an event 1 min ago.',
    },
  ])
})

test.for([
  ['192.0.2.25', 'Microsoft (Outlook) refuses mail of the sending address 192.0.2.25.'],
  ['2001:db8::25', 'Microsoft (Outlook) refuses mail of the sending address 2001:db8::25.'],
  ['mail.example.com', 'Microsoft (Outlook) refuses mail of mail.example.com.'],
  ['', 'Microsoft (Outlook) refuses your mail.'],
])('the overview says first what of ours a provider names: "%s"', ([names, sentence]) => {
  const refusing = { provider: 'microsoft', emails: 211, blocked: 109, reply: 'on our block list (S3140)', names }
  const [finding] = findingsOf(create(GetOverviewResponseSchema, { refusingProviders: [refusing] }), {}, NOW)
  expect(finding).toMatchObject({
    tone: 'error',
    sentence: `${sentence} It blocked 109 of 211 emails in the last hour.`,
    words: 'on our block list (S3140)',
    askAt: expect.stringMatching(/^https:/),
    search: { bounced_by: 'microsoft', reason: 'policy_block' },
  })
})

const withQuota = (used: number) =>
  findingsOf(
    create(GetOverviewResponseSchema, {
      quota: { quota: 3_000, used, endsAt: timestampFromMs(Date.UTC(2026, 11, 1)) },
    }),
    {},
    NOW,
  )

test('the overview warns from 80 % of the quota on, and says when the month ends', () => {
  expect(withQuota(2_399)).toMatchObject([{ sentence: 'All good.' }])
  expect(withQuota(2_400)).toMatchObject([{ tone: 'warning', page: 'settings/limits' }])
  expect(withQuota(2_400)[0]!.sentence).toMatch(/^2.400 of 3.000 emails of this month are sent\. .* on 2026-12-01/)
  expect(withQuota(3_000)).toMatchObject([{ tone: 'error', sentence: expect.stringContaining('is used up') }])
  expect(withQuota(3_000)[0]!.sentence).toContain('Sending resumes on 2026-12-01, after the month ends (UTC).')
})

const READY = { database: 'ok', migrations: 'ok', temporal: 'ok', worker: 'polling' }

test.each<[fault: ReadinessChecks, words: string[]]>([
  [
    { worker: 'none' },
    ['No worker runs.', 'Mail is sent', 'Retries, replays and checks of domains wait', 'npm run worker'],
  ],
  [{ temporal: 'degraded', worker: 'unknown' }, ['Temporal does not respond.', 'Mail is sent', 'replays are refused']],
  [{ database: 'disk_full' }, ['The disk of the database is full.', 'No mail is sent']],
  [{ migrations: 'outgrown' }, ['The database belongs to a later version', 'starts that version']],
  [{ migrations: 'unreleased' }, ['An unreleased version of Verdict made the database.', 'restores a back-up']],
  [{ database: 'failing', migrations: 'unknown' }, ['The database does not respond.', 'No mail is sent']],
])('of %j the overview says what goes on, what waits, and what the operator does', (fault, words) => {
  const [finding, ...others] = findingsOf(create(GetOverviewResponseSchema), { ...READY, ...fault }, NOW)
  expect(finding!.tone).toBe('error')
  for (const part of [...words, 'Your operator']) expect(finding!.sentence).toContain(part)
  expect(others).toEqual([])
})

test('nothing is wrong with an installation whose parts are ready, or say nothing', () => {
  expect(faultsOf(READY)).toEqual([])
  expect(faultsOf({})).toEqual([])
})
