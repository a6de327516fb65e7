import { createServiceImplSpec } from '@connectrpc/connect'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { operator } from '../../../cli/operator.ts'
import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { PeopleService } from '../../../gen/verdict/admin/v1/people_pb.ts'
import { invite } from '../../../server/access/people/invitations.ts'
import { createPeopleService, type InvitationResult } from '../../../server/admin/people.ts'
import { newId } from '../../../server/db/ids.ts'
import { invitations, notices } from '../../../server/db/people-schema.ts'
import { feedback } from '../../../server/db/schema.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { reasonOf } from '../../../server/errors.ts'
import { HOUSE } from '../../../server/notices/house.ts'
import { startDashboard } from '../../harness/person.ts'
import { createTestSender } from '../../notices/notice-sender.ts'
import { startSendingWorld } from '../../sending/world.ts'

const DAY_MS = 86_400_000

const results: InvitationResult[] = []

const world = await startSendingWorld()
const parts = {
  ...world,
  publicUrl: () => 'https://mail.example.com',
  notifyFrom: 'verdict@example.test',
  onInvitation: (result: InvitationResult) => void results.push(result),
}
const services = [createServiceImplSpec<typeof PeopleService>(PeopleService, createPeopleService(parts))]
const dashboard = await startDashboard({ ...world, services, openServices: () => [] })

/** An earlier invitation and what became of it. */
const EARLIER: fc.Arbitrary<Earlier> = fc.record({
  times: fc.constantFrom(1, 2, 19, 20, 49, 50),
  isOpen: fc.boolean(),
  isMailed: fc.boolean(),
  isOfToday: fc.boolean(),
  byOperator: fc.boolean(),
  end: fc.constantFrom('sent', 'bounced', 'rejected', 'late_bounce', 'complaint'),
})
interface Earlier {
  times: number
  isOpen: boolean
  isMailed: boolean
  isOfToday: boolean
  byOperator: boolean
  end: 'sent' | 'bounced' | 'rejected' | 'late_bounce' | 'complaint'
}

const isBounce = ({ end }: Earlier) => end === 'bounced' || end === 'late_bounce'

/** What the limits say, from the inputs alone. */
function expected(all: Earlier[]): InvitationResult {
  const count = (matches: (one: Earlier) => boolean) =>
    all.filter((one) => !one.byOperator && matches(one)).reduce((sum, { times }) => sum + times, 0)
  const ofToday = (one: Earlier) => one.isMailed && one.isOfToday
  if (count(({ isOpen }) => isOpen) >= 20 || count(ofToday) >= 50) return 'refused'
  const isEnded =
    count((one) => ofToday(one) && one.end === 'complaint') > 0 || count((one) => ofToday(one) && isBounce(one)) >= 3
  return isEnded ? 'mailing_ended' : 'mailed'
}

async function store(accountId: string, personId: string, all: Earlier[]): Promise<void> {
  const now = world.clock.now()
  const today = new Date(now).setUTCHours(0, 0, 0, 0)
  for (const { times, isOpen, isMailed, isOfToday, byOperator, end } of all) {
    const at = new Date(isOfToday ? today : today - 1)
    for (let i = 0; i < times; i++) {
      const id = newId(at.getTime())
      const messageId = newId(at.getTime())
      const email = `${id}@example.net`
      const createdBy = byOperator ? null : personId
      const expiresAt = new Date(isOpen ? now + DAY_MS : now - 1)
      await world.db.insert(invitations).values({
        id,
        accountId,
        email,
        role: 'member',
        tokenHash: Buffer.from(id),
        createdBy,
        createdAt: at,
        expiresAt,
      })
      if (!isMailed) continue
      const isRefused = end === 'bounced' || end === 'rejected'
      const state = isRefused ? 'failed' : 'sent'
      const mail = { kind: 'invitation', channel: 'mail', accountId, subjectId: id, state, messageId } as const
      const outcome = isRefused ? `${end}: mailbox_does_not_exist` : 'delivered'
      await world.db.insert(notices).values({ id: newId(now), ...mail, outcome, dueAt: at, createdAt: at, endedAt: at })
      if (end !== 'late_bounce' && end !== 'complaint') continue
      await world.db.insert(feedback).values({
        id: newId(now),
        messageId,
        accountId: HOUSE,
        recipient: email,
        kind: end,
        evidence: {},
        counted: false,
        reportedAt: at,
      } as typeof feedback.$inferInsert)
    }
  }
}

test('20 open and 50 mailed a UTC day, and a complaint or three bounces of the day end the mailing', async () => {
  const { db, clock } = world
  await fc.assert(
    fc.asyncProperty(fc.array(EARLIER, { maxLength: 4 }), async (all) => {
      const { id: accountId } = await createAccount(db, clock, 'Web shop')
      const person = await dashboard.person({ accountId })
      await store(accountId, person.personId, all)
      results.length = 0
      const call = person.client(PeopleService).invitePerson({ email: 'ann@example.net', role: Role.MEMBER })
      const answer = await call.catch((error) => error)
      expect(results).toEqual([expected(all)])
      expect(expected(all) === 'refused' ? reasonOf(answer) : answer.mailed).toEqual(
        expected(all) === 'refused' ? 'rate_limit_exceeded' : expected(all) === 'mailed',
      )
      expect(
        await invite(db, clock, operator(accountId), {
          email: 'bob@example.net',
          role: 'member',
          isMailed: true,
        }),
      ).toMatchObject({ isMailed: true })
    }),
    { numRuns: 40 },
  )
})

test('invitations that bounce are no longer mailed, and repeats count', async () => {
  const { db, clock, exchanger } = world
  await db.delete(notices)
  const { id: accountId } = await createAccount(db, clock, 'Web shop')
  const owner = (await dashboard.person({ accountId })).client(PeopleService)
  exchanger.script = { rcpt: '550 5.1.1 No such user' }
  const inviteAnn = () => owner.invitePerson({ email: 'ann@example.net', role: Role.MEMBER })
  for (let i = 0; i < 3; i++) {
    expect((await inviteAnn()).mailed).toBe(true)
    await createTestSender(world).sendDue()
  }
  expect((await inviteAnn()).mailed).toBe(false)
  exchanger.script = {}
})

test('of invitations at the same moment no more are made than the account may have open', async () => {
  const { db, clock } = world
  const { id: accountId } = await createAccount(db, clock, 'Web shop')
  const owner = (await dashboard.person({ accountId })).client(PeopleService)
  const calls = Array.from({ length: 30 }, (_, i) =>
    owner.invitePerson({ email: `u${i}@example.net`, role: Role.MEMBER }).then(() => 'made', reasonOf),
  )
  const made = (await Promise.all(calls)).filter((result) => result === 'made')
  expect(made).toHaveLength(20)
})
