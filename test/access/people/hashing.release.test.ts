import { expect, test } from 'vitest'
import { testAccount } from '../../harness/account.ts'
import { startDashboard } from '../../harness/person.ts'

const PASSWORD = 'correct horse battery'

const account = await testAccount()
const dashboard = await startDashboard({ db: account.db, clock: account.clock, trustProxy: ['127.0.0.0/8'] })

async function signIn(email: string, password: string, from: string) {
  const response = await fetch(`${dashboard.url}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
    body: JSON.stringify({ email, password }),
  })
  return { status: response.status, json: await response.json(), headers: response.headers }
}

const FLOODS: [name: string, address: (i: number) => string][] = [
  ['six addresses', (i) => `192.0.2.${i % 6}`],
  ['80 networks of one /56', (i) => `2001:db8:1:${(0x100 + i).toString(16)}::1`],
  ['80 networks of one /48', (i) => `2001:db8:2:${(i * 256).toString(16)}::1`],
]

test.each(FLOODS)('while %s sign in 80 times at once, people of other networks sign in', async (_, address) => {
  const people = await Promise.all(Array.from({ length: 4 }, () => dashboard.person({ password: PASSWORD })))
  const flood = Array.from({ length: 80 }, (_, i) => signIn(`stranger${i}@people.test`, PASSWORD, address(i)))
  // The first responses are refusals: then the places for waiting are taken.
  await Promise.race(flood)
  const others = people.map(({ email }, i) => signIn(email, PASSWORD, i % 2 ? `198.51.100.${i}` : `2001:db8:${i}0::1`))
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual(people.map(() => 200))

  const refused = (await Promise.all(flood)).filter(({ status }) => status !== 401)
  expect(refused.length).toBeGreaterThan(0)
  for (const { status, json, headers } of refused) {
    expect([status, headers.get('retry-after')]).toEqual([503, '5'])
    expect(json).toEqual({
      error: 'transient_failure',
      message: 'Too many people sign in at this moment. Wait 5 seconds.',
      retry_after: 5,
      request_id: headers.get('x-request-id'),
    })
  }
})

test('a sign-in that found no place for hashing counts as no attempt', async () => {
  const from = '203.0.113.1'
  const emails = Array.from({ length: 60 }, (_, i) => `stranger${i}@people.test`)
  const attempts = await Promise.all(emails.map((email) => signIn(email, 'wrong', from)))
  const refused = emails[attempts.findIndex(({ status }) => status === 503)]!
  for (let i = 0; i < 10; i++) expect((await signIn(refused, 'wrong', from)).status).toBe(401)
  expect((await signIn(refused, 'wrong', from)).status).toBe(429)
})
