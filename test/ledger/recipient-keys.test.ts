import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { newId } from '../../server/db/ids.ts'
import { run } from '../../server/db/statement.ts'
import { type Claim, createClaim } from '../../server/ledger/claim.ts'
import { LEFT_TO_TEMPORAL } from '../../server/ledger/first-attempts-offer.ts'
import { release } from '../../server/ledger/release.ts'
import { rejected } from '../../server/sending/outcome.ts'
import { createSettleUntilStored } from '../../server/sending/until-stored.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'
import { recipient } from '../harness/recipient.ts'

// The keys of the recipients of a message that came over SMTP: taken with its claim or its settlement.

const database = await testDatabase()
const claim = createClaim(database.db)

const keyOf = (text: string) => createHash('sha256').update(text).digest('hex')
const account = () => newId(Date.now())
/** The claim of a message to these names, each of which has a key. */
const keyed = (names: string[], change: Partial<Claim> = {}) =>
  newClaim({
    to: names.map((name) => `${name}@example.net`),
    recipientKeys: names.map((name) => [keyOf(name)]),
    ...change,
  })

async function settle(settled: Claim): Promise<string> {
  const outcomes = settled.recipients.map(({ email }) => rejected(recipient(email), Reason.SUPPRESSION_LIST))
  return await createSettleUntilStored(database.db, LEFT_TO_TEMPORAL)(settled, { outcomes, sandbox: false })
}

async function keysOf({ accountId }: Claim) {
  const rows = await run<{ key: string; id: string; position: number; hours: number }>(
    database.db,
    `select encode(key, 'hex') as key, message_id as id, position,
       extract(epoch from expires_at - now()) / 3600 as hours
     from recipient_keys where account_id = $1 order by position`,
    [accountId],
  )
  return rows.map(({ key, id, position, hours }) => ({ key, id, position, hours: Math.round(hours) }))
}

const WAYS: [string, (message: Claim) => Promise<string>][] = [
  ['claim', (message) => claim(message)],
  ['settlement', settle],
]

test.for(WAYS)('a %s takes a key for each of its recipients, for 24 hours', async ([, begin]) => {
  const first = keyed(['ann', 'bob'])
  expect(await begin(first)).toBe('claimed')
  expect(await keysOf(first)).toEqual([
    { key: keyOf('ann'), id: first.messageId, position: 0, hours: 24 },
    { key: keyOf('bob'), id: first.messageId, position: 1, hours: 24 },
  ])
})

test.for(WAYS)('a %s of a recipient whose key is taken stores nothing and takes no other key', async ([, begin]) => {
  const accountId = account()
  const first = keyed(['bob'], { accountId })
  await begin(first)
  const repeat = keyed(['ann', 'bob'], { accountId })
  expect(await begin(repeat)).toBe('key_taken')
  expect(await keysOf(first)).toMatchObject([{ key: keyOf('bob'), id: first.messageId }])
  const stored = 'select from open_messages where id = $1 union all select from messages where id = $1'
  expect((await run(database.db, stored, [repeat.messageId])).count).toBe(0)
})

test.for(WAYS)('a %s takes the keys of its own account, whatever another account has', async ([, begin]) => {
  expect(await begin(keyed(['ann']))).toBe('claimed')
  expect(await begin(keyed(['ann']))).toBe('claimed')
})

test('a release frees the keys of the recipients', async () => {
  const accountId = account()
  const first = keyed(['ann'], { accountId })
  await claim(first)
  await release(database.db, first.messageId, first.claimId)
  expect(await keysOf(first)).toEqual([])
  expect(await claim(keyed(['ann'], { accountId }))).toBe('claimed')
})
