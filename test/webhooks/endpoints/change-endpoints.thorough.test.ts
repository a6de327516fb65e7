import { randomBytes, randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import type { Requester } from '../../../server/access/audit/change-as.ts'
import { asc, eq } from '../../../server/db/drizzle.ts'
import { createSealer } from '../../../server/db/encryption.ts'
import { auditEntries } from '../../../server/db/people-schema.ts'
import { accounts } from '../../../server/db/schema.ts'
import { run } from '../../../server/db/statement.ts'
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  type EndpointWithSecret,
  putFirst,
  rotateSecret,
} from '../../../server/webhooks/endpoints/change-endpoints.ts'
import { CANCEL_ORPHANS } from '../../../server/webhooks/queue/hand-over.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { atEnd } from '../../harness/until-end.ts'
import { newEvent, storeDispatches, storeEndpoints } from '../rows.ts'

// However many dispatches wait for an endpoint, its deletion is done in bounded pieces, and waits for none of them.

const WAITING = 2_500
const MOST = 1_000
const database = await testDatabase()
const { db } = database

/** Stores an endpoint with dispatches that wait, a part of them in workflows. */
async function storeWaiting() {
  const accountId = randomUUID()
  const events = Array.from({ length: WAITING }, () => newEvent(accountId))
  await storeEndpoints(database, events)
  const [inWorkflows, others] = [events.slice(0, 1_200), events.slice(1_200)]
  await storeDispatches(database, inWorkflows, { attempt: 2, due: 60, workflowId: `webhook-${accountId}` })
  for (let from = 0; from < others.length; from += 500)
    await storeDispatches(database, others.slice(from, from + 500), { attempt: 2, due: 60 })
  return accountId
}

/** How many dispatches each transaction has ended. */
async function endedByTransaction(accountId: string): Promise<number[]> {
  const rows = await run<{ ended: number }>(
    db,
    'select count(*)::int as ended from dispatches where account_id = $1 group by xmin::text',
    [accountId],
  )
  return rows.map(({ ended }) => ended)
}
const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0)

test('the audit log has each change of an endpoint that was asked for, with the fields that it changed', async () => {
  const accountId = randomUUID()
  await db.insert(accounts).values({ id: accountId, name: 'Test' })
  const parts = { db, sealer: createSealer([{ id: 'k1', key: randomBytes(32) }]) }
  const operator: Requester = { accountId, actor: { kind: 'operator', name: 'ops' } }
  const [one, two] = ['https://one.example.com/', 'https://two.example.com/']
  // Changes that the service makes by itself come first.
  await putFirst(parts, accountId, { url: one })
  await putFirst(parts, accountId, { url: one, description: 'First' }, operator)
  const { endpoint } = (await createEndpoint(parts, accountId, { url: two }, operator)) as EndpointWithSecret
  await changeEndpoint(parts, accountId, endpoint.id, { disabled: true, tags: ['a'] }, operator)
  await changeEndpoint(parts, accountId, endpoint.id, { disabled: false }, operator)
  await changeEndpoint(parts, accountId, endpoint.id, { disabled: false }, operator)
  await rotateSecret(parts, accountId, endpoint.id, operator)
  await deleteEndpoint(db, accountId, endpoint.id, operator)
  await deleteEndpoint(db, accountId, 'first')
  const entries = await db
    .select()
    .from(auditEntries)
    .where(eq(auditEntries.accountId, accountId))
    .orderBy(asc(auditEntries.id))
  const events = ['email.delivery']
  const statuses = endpoint.statuses
  expect(entries.map(({ action, target, before, after }) => [action, target, before, after])).toEqual([
    ['webhook.set', one, { description: null }, { description: 'First' }],
    ['webhook.create', two, null, { url: two, events, statuses }],
    ['webhook.change', two, { disabled: null, tags: null }, { disabled: true, tags: ['a'] }],
    ['webhook.change', two, { disabled: true }, { disabled: null }],
    ['webhook.rotate_secret', two, null, null],
    ['webhook.delete', two, { url: two, events, statuses, tags: ['a'] }, null],
  ])
})

test('the deletion of an endpoint cancels its dispatches in pieces', async () => {
  const accountId = await storeWaiting()
  expect(await deleteEndpoint(db, accountId, 'first')).toEqual([`webhook-${accountId}`])
  const ended = await endedByTransaction(accountId)
  expect(sum(ended)).toBe(WAITING)
  expect(Math.max(...ended)).toBeLessThanOrEqual(MOST)
})

test('the deletion waits for no dispatch that another transaction has locked', async () => {
  const accountId = await storeWaiting()
  const holder = postgres(database.url, { max: 1 })
  atEnd(() => holder.end({ timeout: 0 }))
  await holder.unsafe('begin')
  const locked = await holder.unsafe(
    `select id from open_dispatches where account_id = '${accountId}' order by id desc limit 1 for update`,
  )
  expect(await deleteEndpoint(db, accountId, 'first')).toBeDefined()
  const left = await run<{ id: string }>(db, 'select id from open_dispatches where account_id = $1', [accountId])
  expect([...left]).toEqual([...locked])
})

test('what a process has left of it is cancelled in pieces, too', async () => {
  const accountId = await storeWaiting()
  await run(db, 'delete from webhook_endpoints where account_id = $1', [accountId])
  for (let pass = 0; pass < 2; pass++) await run(db, CANCEL_ORPHANS)
  const ended = await endedByTransaction(accountId)
  expect(sum(ended)).toBe(WAITING - 1_200)
  expect(Math.max(...ended)).toBeLessThanOrEqual(MOST)
})
