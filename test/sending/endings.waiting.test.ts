import { expect, test } from 'vitest'
import { createStoreEnding } from '../../server/sending/endings.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'

const { db } = await testDatabase()

test('an end whose row PostgreSQL refuses is tried for a while past its lease, and then left to the sweeper', async () => {
  const refused = Object.assign(new Error('not now'), { code: '23514' })
  let tries = 0
  const ending = createStoreEnding(db)(newClaim(), performance.now(), async () => {
    tries++
    throw refused
  })
  await expect(ending).rejects.toBe(refused)
  expect(tries).toBeGreaterThan(3)
})
