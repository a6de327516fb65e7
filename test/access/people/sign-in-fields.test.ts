import { expect, test } from 'vitest'
import { testAccount } from '../../harness/account.ts'
import { startDashboard } from '../../harness/person.ts'
import { callSignIn } from '../../harness/sign-in.ts'

const account = await testAccount()
const dashboard = await startDashboard(account)

const PATHS: [path: string, fields: Record<string, unknown>][] = [
  ['/sign-in/email', { email: 'ann@people.test', password: 'correct horse battery' }],
  ['/sign-out', {}],
  ['/change-password', { currentPassword: 'a', newPassword: 'b' }],
  ['/two-factor/enable', { password: 'a' }],
  ['/two-factor/disable', { password: 'a' }],
  ['/two-factor/generate-backup-codes', { password: 'a' }],
  ['/two-factor/verify-totp', { code: '000000' }],
  ['/two-factor/verify-backup-code', { code: 'aaaaa-bbbbb' }],
]

/** Fields that better-auth has, and fields of JavaScript itself. */
const UNKNOWN = 'trustDevice rememberMe callbackURL disableSession method issuer constructor __proto__'.split(' ')

/** JSON with another field. `JSON.stringify` leaves out `__proto__`. */
const withField = (fields: object, name: string) =>
  `{${[...Object.entries(fields), [name, true]].map(([key, value]) => `"${key}":${JSON.stringify(value)}`).join()}}`

test.each(PATHS)('%s refuses each field that it does not know, and names it', async (path, fields) => {
  for (const field of UNKNOWN) {
    const { status, json, setCookies } = await callSignIn(path, withField(fields, field), dashboard)
    expect([field, status, json]).toMatchObject([
      field,
      400,
      { error: 'invalid_payload', details: [{ field, message: 'is not a known field' }] },
    ])
    expect(setCookies).toEqual([])
  }
})

test.each(PATHS.filter(([path]) => path !== '/sign-out'))(
  '%s names each field that is missing or no text',
  async (path, fields) => {
    for (const field of Object.keys(fields)) {
      const missing = await callSignIn(path, { ...fields, [field]: undefined }, dashboard)
      expect([missing.status, missing.json.details]).toEqual([400, [{ field, message: 'is required' }]])
      const wrong = await callSignIn(path, { ...fields, [field]: [] }, dashboard)
      expect([wrong.status, wrong.json.details]).toEqual([400, [{ field, message: 'must be a string' }]])
    }
  },
)

test('a new password always ends the other sessions', async () => {
  const body = { currentPassword: 'a', newPassword: 'b', revokeOtherSessions: false }
  const { status, json } = await callSignIn('/change-password', body, dashboard)
  expect([status, json.details]).toEqual([
    400,
    [{ field: 'revokeOtherSessions', message: 'must be true: a new password ends every other session' }],
  ])
})

test('the name of an unknown field is repeated in part only', async () => {
  const { json } = await callSignIn('/sign-out', { ['x'.repeat(5_000)]: 1 }, dashboard)
  expect(json.details[0].field).toBe('x'.repeat(64))
})
