import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { lowerAscii } from '../../mail/address.ts'
import { run } from '../../server/db/statement.ts'
import { readReturnPath } from '../../server/domains/return-path.ts'
import { createFeedback } from '../../server/inbound/feedback.ts'
import { readReport } from '../../server/inbound/report.ts'
import { arf, dsn } from './report-forms.ts'
import { startInboundWorld } from './world.ts'

// Whatever comes to one return path, and however much of it: it says of a recipient what one report can say.

const world = await startInboundWorld()
beforeEach(() => run(world.db, 'truncate feedback, suppressions, refusals, hourly_stats, open_stats'))

const SEED = 43
const REPORTS = 1_000
/** How many are stored at the same time: several processes take reports. */
const AT_ONCE = 8

const mails = (recipients: string[]) => {
  const address = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...recipients, ...recipients.map((each) => each.toUpperCase())) },
    fc.constantFrom('team@elsewhere.example', 'cy@example.net', 'ann@mail.example.net'),
  )
  const bounce = fc
    .record({
      address,
      reply: fc.constantFrom(
        '550 5.1.1 User unknown',
        '550 5.2.1 Account disabled',
        '552 5.2.2 Mailbox full',
        '554 5.7.1 Refused by policy',
        '450 4.4.1 timed out',
      ),
    })
    .map(({ address, reply }) =>
      dsn({
        fields: [
          `Final-Recipient: rfc822; ${address}\nAction: failed\nStatus: ${reply.slice(4, 9)}\nDiagnostic-Code: smtp; ${reply}`,
        ],
      }),
    )
  const complaint = address.map((each) => arf({ fields: `Original-Rcpt-To: ${each}\n` }))
  return fc.oneof({ weight: 6, arbitrary: bounce }, complaint)
}

const rows = <T extends object>(query: string) => run<T>(world.db, query)
const unique = (rows: object[]) => new Set(rows.map((row) => JSON.stringify(row))).size

test.each([[['ann@example.net']], [['ann@example.net', 'bob@example.net', 'carl@example.net']]])(
  '1,000 reports to the return path of %j are one incident and one entry a recipient',
  async (to) => {
    const { id, returnPath } = await world.sendMessage({ to })
    const path = readReturnPath(world.returnPathKeys, returnPath.slice(0, returnPath.lastIndexOf('@')))!
    const keep = createFeedback(world)
    const waiting = fc.sample(mails(to), { numRuns: REPORTS, seed: SEED })
    const results: unknown[] = []
    const storeNext = async (): Promise<void> => {
      for (let mail = waiting.pop(); mail !== undefined; mail = waiting.pop())
        results.push(await keep(path, await readReport(Buffer.from(mail), { hasNullSender: true, returnPath })))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, storeNext))

    expect(results).toHaveLength(REPORTS)
    const feedback = await rows<{ recipient: string }>('select recipient, kind, is_member from feedback')
    expect(feedback.length).toBeGreaterThan(to.length)
    expect(unique(feedback)).toBe(feedback.length)
    expect(feedback.every(({ recipient }) => to.includes(lowerAscii(recipient)))).toBe(true)
    const events = await rows(
      `select recipient, feedback as kind, is_member from events where message_id = '${id}' and feedback is not null`,
    )
    expect(events.toSorted(byText)).toEqual(feedback.toSorted(byText))

    const incidents = await rows<{ email: string; kind: string }>('select email, kind from refusals')
    const entries = await rows<{ email: string; stays: boolean }>(
      'select email, expires_at is null as stays from suppressions',
    )
    for (const list of [incidents, entries]) {
      expect(unique(list.map(({ email }) => ({ email })))).toBe(list.length)
      expect(list.every(({ email }) => to.includes(email))).toBe(true)
    }
    expect(await rows('select from feedback where counted')).toHaveLength(1)
    // A path of several recipients may carry what one of them says about the others.
    if (to.length > 1) {
      expect(incidents.map(({ kind }) => kind).filter((kind) => kind === 'unknown')).toEqual([])
      expect(entries.filter(({ stays }) => stays)).toEqual([])
    }
  },
)

const byText = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
