import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCli } from '../../cli/run.ts'
import { eq } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { recipients, suppressions } from '../../server/db/schema.ts'
import { startApi } from '../services/api.ts'

const api = await startApi()
beforeEach(() => {
  const [{ options }] = [api.world.db.$client]
  const [host, port] = [options.host[0], options.port[0]]
  vi.stubEnv('DATABASE_URL', `postgres://${options.user}:${options.pass ?? ''}@${host}:${port}/${options.database}`)
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** A bounce with this reply, and the entry that an earlier release made of it. */
async function bounce(email: string, reply: string) {
  const { db, account, exchanger } = api.world
  exchanger.script = { rcpt: reply }
  const sent = await api.call('POST', '/api/v1/emails/send', {
    body: { from: 'hello@example.test', to: email, subject: 'Hello', text: 'Hello' },
  })
  const events = await api.call('GET', `/api/v1/events?message_id=${sent.json.message_id}`)
  const [row] = await db.select().from(recipients).where(eq(recipients.email, email)).limit(1)
  await db
    .insert(suppressions)
    .values({
      id: row!.eventId,
      accountId: account.id,
      tenantId: '',
      email,
      reason: 'bounce',
      messageId: row!.messageId,
    })
    .onConflictDoNothing()
  return events
}

test('a recheck lists the entries that the rules of today would not create, and removes them on demand', async () => {
  await bounce('gone@example.net', '550 5.1.1 <gone@example.net>: User unknown')
  await bounce(
    'alive@example.net',
    '550 5.1.1 <alive@example.net> - 203.0.113.222 has sent to too many recipients this hour',
  )
  await api.world.db.insert(suppressions).values({
    id: newId(Date.now()),
    accountId: api.world.account.id,
    tenantId: '',
    email: 'old@example.net',
    reason: 'bounce',
    messageId: newId(Date.now()),
  })
  // It took mail, and was refused: that is seven days.
  api.world.exchanger.script = {}
  await api.send({ to: 'living@example.net' })
  await bounce('living@example.net', '550 5.1.1 <living@example.net>: User unknown')
  const inEightDays = Date.now() + 8 * 86_400_000
  vi.spyOn(Date, 'now').mockReturnValue(inEightDays)
  const { json } = await runCli(['suppression', 'recheck'])
  expect(json).toMatchObject({
    judged: 4,
    unknown: 1,
    removed: 0,
    entries: expect.arrayContaining([
      expect.objectContaining({ email: 'alive@example.net', read_as: 'sender (rate)' }),
      expect.objectContaining({ email: 'living@example.net', read_as: 'mailbox (unknown)' }),
    ]),
  })
  const applied = await runCli(['suppression', 'recheck', '--apply'])
  expect(applied.text).toContain('2 removed.')
  const left = await api.world.db.select({ email: suppressions.email }).from(suppressions)
  expect(left.map(({ email }) => email).sort()).toEqual(['gone@example.net', 'old@example.net'])
})
