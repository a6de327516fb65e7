import { afterAll, expect, test } from 'vitest'
import { newId } from '../../../server/db/ids.ts'
import { credentials, people } from '../../../server/db/people-schema.ts'
import { startOidcProvider } from '../../harness/oidc-provider.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { diagnose } from './patients.ts'

const [database, provider] = await Promise.all([
  testDatabase(),
  startOidcProvider(() => 'http://127.0.0.1:1/dashboard/oidc'),
])
const { issuer, clientId, clientSecret } = provider.config
const env: Record<string, string> = {
  DATABASE_URL: database.url,
  OIDC_ISSUER: issuer,
  OIDC_CLIENT_ID: clientId,
  OIDC_CLIENT_SECRET: clientSecret,
}
afterAll(async () => {
  await provider[Symbol.asyncDispose]()
})

test('the issuer is asked for its metadata', async () => {
  expect(await diagnose('issuer', {})).toEqual({ state: 'skipped', seen: 'OIDC_ISSUER is not set' })
  expect(await diagnose('issuer', env)).toMatchObject({ state: 'ok' })
  // It names itself without a slash.
  const other = await diagnose('issuer', { ...env, OIDC_ISSUER: `${env.OIDC_ISSUER}/other` })
  expect(other).toMatchObject({ state: 'failed', wayOut: expect.stringContaining('exactly') })
  provider.isUp = false
  expect(await diagnose('issuer', env)).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('passwords alone'),
  })
})

test('people who can sign in in no way are named', async () => {
  const { db } = database
  const personId = newId(Date.now())
  await db.insert(people).values({ id: personId, name: 'Ann', email: 'ann@people.test' })
  const { OIDC_ISSUER } = env
  const identity = { userId: personId, providerId: OIDC_ISSUER!, accountId: 'ann' }
  await db.insert(credentials).values({ id: newId(Date.now()), ...identity })
  expect(await diagnose('people_sign_in', env)).toMatchObject({ state: 'ok' })
  const without = await diagnose('people_sign_in', { DATABASE_URL: database.url })
  expect(without).toMatchObject({ state: 'warning', seen: expect.stringContaining('ann@people.test') })
})
