import { beforeEach, expect, test } from 'vitest'
import { asc } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { feedback as feedbackRows, refusals } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { createClaim } from '../../server/ledger/claim.ts'
import { newClaim } from '../harness/claim.ts'
import { mx } from '../harness/dns.ts'
import { arf, bounceOf } from './report-forms.ts'
import { startInboundWorld } from './world.ts'

// A chain of retries has one return path for each recipient domain. A report to it may be about any of its messages.

const world = await startInboundWorld({}, { 'MX other.org': [mx('other.org', 10, 'mx.example.net')] })
beforeEach(async () => {
  await run(world.db, 'truncate feedback, suppressions, refusals, hourly_stats, breakers')
  world.received.length = 0
  world.exchanger.reset()
})

/** Sends a message; the recipients that `refused` matches are refused for now. */
function send(to: string[], { refused = /^$/, retryOf }: { refused?: RegExp; retryOf?: string } = {}) {
  world.exchanger.script = { rcpt: (line) => (refused.test(line) ? '451 4.7.1 Greylisted' : undefined) }
  return world.sendMessage({ to, retryOf })
}
const pathFor = (email: string) => world.exchanger.messages.findLast(({ to }) => to.includes(email))!.from
const reported = async () => {
  const { messageId, recipient } = feedbackRows
  const rows = await world.db.select({ messageId, recipient }).from(feedbackRows).orderBy(asc(recipient))
  return rows.map(({ messageId, recipient }) => [messageId, recipient])
}
const results = () => world.received.map(({ kept }) => kept)

test('a report belongs to the message of the chain in which its recipient was delivered', async () => {
  const first = await send(['ann@example.net', 'bob@example.net', 'cy@example.net'], { refused: /bob|cy/ })
  const second = await send(['bob@example.net', 'cy@example.net'], { refused: /cy/, retryOf: first.messageId })
  const third = await send(['cy@example.net'], { retryOf: second.messageId })
  const path = pathFor('cy@example.net')
  expect([pathFor('ann@example.net'), pathFor('bob@example.net')]).toEqual([path, path])
  for (const name of ['ann', 'bob', 'cy']) await world.bounce(path, bounceOf(`${name}@example.net`))
  expect(await reported()).toEqual([
    [first.id, 'ann@example.net'],
    [second.id, 'bob@example.net'],
    [third.id, 'cy@example.net'],
  ])
  expect(await world.db.$count(refusals)).toBe(3)
})

test('a report with several recipients is stored with the message of each', async () => {
  const first = await send(['ann@example.net', 'bob@example.net'], { refused: /bob/ })
  const second = await send(['bob@example.net'], { retryOf: first.messageId })
  await world.bounce(pathFor('bob@example.net'), bounceOf('ann@example.net', 'bob@example.net'))
  await world.bounce(pathFor('bob@example.net'), bounceOf('bob@example.net'))
  expect(await reported()).toEqual([
    [first.id, 'ann@example.net'],
    [second.id, 'bob@example.net'],
  ])
  expect(results()).toEqual(['kept', 'known'])
})

test('a retry that ended in doubt has the report', async () => {
  const first = await send(['ann@example.net'], { refused: /ann/ })
  world.exchanger.script = { dot: 'close' }
  const second = await world.sendMessage({ to: ['ann@example.net'], retryOf: first.messageId })
  await world.bounce(second.returnPath, bounceOf('somewhere@else.test'))
  expect(await reported()).toEqual([[second.id, 'ann@example.net']])
})

test('a report that names no recipient means the only one of its domain in the whole chain, or none', async () => {
  const first = await send(['ann@example.net', 'bob@example.net'], { refused: /ann|bob/ })
  const second = await send(['ann@example.net'], { retryOf: first.messageId })
  await world.bounce(pathFor('ann@example.net'), bounceOf('hidden@else.test'))
  expect(await reported()).toEqual([[second.id, 'ann@example.net']])

  await send(['bob@example.net'], { retryOf: first.messageId })
  await world.bounce(pathFor('bob@example.net'), arf({ fields: 'Original-Rcpt-To: hidden@else.test\n' }))
  expect(results()).toEqual(['kept', 'no_recipient'])
})

test('a report speaks for no recipient of another domain, in none of the messages', async () => {
  const first = await send(['ann@example.net', 'zoe@other.org'], { refused: /ann|zoe/ })
  const second = await send(['ann@example.net', 'zoe@other.org'], { retryOf: first.messageId })
  await world.bounce(pathFor('zoe@other.org'), bounceOf('ann@example.net', 'zoe@other.org'))
  expect(await reported()).toEqual([[second.id, 'zoe@other.org']])
})

test('a report that comes while a retry is not stored yet is tried again', async () => {
  const first = await send(['ann@example.net', 'bob@example.net'], { refused: /ann/ })
  const retry = { retriedId: first.id, firstId: first.id, recipients: [{ position: 0, senderPosition: 0 }] }
  const running = newClaim({ accountId: world.account.id, messageId: newId(world.clock.now()), retry })
  expect(await createClaim(world.db)(running)).toBe('claimed')
  const path = pathFor('bob@example.net')
  expect(await world.bounce(path, bounceOf('ann@example.net'))).toMatch(/^4/)
  await run(world.db, 'delete from open_messages where id = $1', [running.messageId])
  await run(world.db, 'delete from retries where message_id = $1', [running.messageId])
  expect(await world.bounce(path, bounceOf('bob@example.net'))).toMatch(/^250/)
  expect(await reported()).toEqual([[first.id, 'bob@example.net']])
})

test('reports about a message and about its retry count one each for the breaker', async () => {
  const first = await send(['ann@example.net', 'bob@example.net'], { refused: /bob/ })
  await send(['bob@example.net'], { retryOf: first.messageId })
  const path = pathFor('bob@example.net')
  await Promise.all([
    world.bounce(path, bounceOf('ann@example.net')),
    world.bounce(path, bounceOf('bob@example.net')),
    world.bounce(path, arf({ fields: 'Original-Rcpt-To: bob@example.net\n' })),
  ])
  const { count } = await run(world.db, 'select from feedback where counted')
  expect([count, (await reported()).length]).toEqual([2, 3])
})

test('an erased recipient of the chain hides the only one', async () => {
  const first = await send(['ann@example.net', 'bob@example.net'], { refused: /ann|bob/ })
  const second = await send(['ann@example.net'], { retryOf: first.messageId })
  await send(['bob@example.net'], { retryOf: first.messageId })
  const path = pathFor('ann@example.net')
  await world.db.$client.begin(async (tx) => {
    await run(tx, "select set_config('verdict.erasing', 'on', true)")
    await run(tx, "update recipients set email = 'erased-1@erased.invalid' where email = 'ann@example.net'")
    await run(tx, "update events set recipient = 'erased-1@erased.invalid' where recipient = 'ann@example.net'")
  })
  await world.bounce(path, bounceOf('hidden@else.test'))
  expect(results()).toEqual(['no_recipient'])
  expect(second.messageId).toMatch(/^msg_/)
})
