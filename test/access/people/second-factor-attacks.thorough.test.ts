import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSessionCookie } from '../../../server/access/people/cookie.ts'
import { signingKeys } from '../../../server/access/people/signing-keys.ts'
import { createSealer } from '../../../server/db/encryption.ts'
import { newId } from '../../../server/db/ids.ts'
import { verifications } from '../../../server/db/people-schema.ts'
import { run } from '../../../server/db/statement.ts'
import { testAccount } from '../../harness/account.ts'
import { startDashboard } from '../../harness/person.ts'
import { callSignIn, totp } from '../../harness/sign-in.ts'

// Attacks on the second factor by a caller who has the password: many guesses at one moment, from many networks, over
// two processes of the API.

const PASSWORD = 'correct horse battery'
const MOST_GUESSES = 10
const sealer = createSealer([{ id: 'test', key: randomBytes(32) }])

const account = await testAccount()
const { db, clock } = account
const start = () => startDashboard({ db, clock, sealer, trustProxy: ['127.0.0.0/8'] })
const processes: Awaited<ReturnType<typeof startDashboard>>[] = [await start(), await start()]

async function victim() {
  const { personId, cookie } = await processes[0]!.person({ password: PASSWORD })
  const { url } = processes[0]!
  const { json } = await callSignIn('/two-factor/enable', { password: PASSWORD }, { url, cookie })
  const { totpURI, backupCodes } = json as { totpURI: string; backupCodes: string[] }
  const set = await callSignIn('/two-factor/verify-totp', { code: totp(totpURI) }, { url, cookie })
  expect(set.status).toBe(200)
  return { personId, backupCodes, code: () => totp(totpURI, 1) }
}

const cookies = createSessionCookie({ keys: signingKeys(sealer), secure: false })

/** The cookie of a sign-in after its password, as better-auth begins it. */
async function halfway(personId: string): Promise<string> {
  const identifier = `2fa-${randomBytes(24).toString('base64url')}`
  const [now, expiresAt] = [account.clock.now(), new Date(Date.now() + 600_000)]
  await account.db.insert(verifications).values([
    { id: newId(now), identifier, value: personId, expiresAt },
    { id: newId(now), identifier: `2fa-attempts-${identifier}`, value: '0', expiresAt },
  ])
  return cookies.halfway(identifier, 600).split(';', 1)[0]!
}

let requests = 0
/** A code from its own network, to either process. */
async function enter(kind: 'totp' | 'backup-code', code: string, cookie: string) {
  const { url } = processes[++requests % 2]!
  const from = `198.${18 + (requests % 2)}.${requests % 250}.${(requests >> 3) % 250}`
  const { status, json, cookie: set } = await callSignIn(`/two-factor/verify-${kind}`, { code }, { url, cookie, from })
  return { status, error: json.error as string | undefined, signedIn: set.includes('session_token') }
}

const wrongCode = (kind: 'totp' | 'backup-code', i: number) =>
  kind === 'totp' ? String(i).padStart(6, '0') : `wrong-${String(i).padStart(5, '0')}`

test.each([
  ['codes of an app', ['totp'] as const],
  ['backup codes', ['backup-code'] as const],
  ['both', ['totp', 'backup-code'] as const],
])('of 60 guesses of %s at one moment, ten are compared, and then the right one is refused', async (_, kinds) => {
  const { personId, code, backupCodes } = await victim()
  const waiting = await Promise.all(Array.from({ length: 60 }, () => halfway(personId)))
  const guesses = await Promise.all(
    waiting.map((cookie, i) => enter(kinds[i % kinds.length]!, wrongCode(kinds[i % kinds.length]!, i), cookie)),
  )
  const compared = guesses.filter(({ error }) => error === 'wrong_code').length
  expect(compared).toBe(MOST_GUESSES)
  expect(guesses.filter(({ error }) => error === 'rate_limit_exceeded').length).toBe(60 - MOST_GUESSES)
  for (const [kind, right] of [['totp', code()] as const, ['backup-code', backupCodes[0]!] as const]) {
    expect(await enter(kind, right, await halfway(personId))).toMatchObject({ status: 429, signedIn: false })
  }
  // A quarter of an hour later.
  await run(account.db, `update second_factors set locked_until = now() - interval '1 second' where person_id = $1`, [
    personId,
  ])
  expect(await enter('totp', code(), await halfway(personId))).toMatchObject({ status: 200, signedIn: true })
})

test('a right code forgets the wrong ones before it: they were nine in a row, and nine again', async () => {
  const { personId, code, backupCodes } = await victim()
  for (const [kind, right] of [['totp', code()] as const, ['backup-code', backupCodes[0]!] as const]) {
    for (let i = 0; i < MOST_GUESSES - 1; i++) {
      expect((await enter('backup-code', wrongCode('backup-code', i), await halfway(personId))).error).toBe(
        'wrong_code',
      )
    }
    expect(await enter(kind, right, await halfway(personId))).toMatchObject({ status: 200, signedIn: true })
  }
})

test('of nine sign-ins with one backup code at one moment, one succeeds', async () => {
  const { personId, backupCodes } = await victim()
  const waiting = await Promise.all(Array.from({ length: 9 }, () => halfway(personId)))
  const entered = await Promise.all(waiting.map((cookie) => enter('backup-code', backupCodes[0]!, cookie)))
  expect(entered.filter(({ signedIn }) => signedIn).length).toBe(1)
  expect((await enter('backup-code', backupCodes[0]!, await halfway(personId))).signedIn).toBe(false)
  expect((await enter('backup-code', backupCodes[1]!, await halfway(personId))).signedIn).toBe(true)
})

test('one challenge signs in once, however many right codes are entered for it at one moment', async () => {
  const { personId, backupCodes } = await victim()
  const cookie = await halfway(personId)
  const entered = await Promise.all(backupCodes.slice(0, 8).map((code) => enter('backup-code', code, cookie)))
  expect(entered.filter(({ signedIn }) => signedIn).length).toBeLessThanOrEqual(1)
})

test('a right code signs in with no challenge but its own: not with that of another, an invented or an ended one', async () => {
  const { personId, code, backupCodes } = await victim()
  const ended = await halfway(personId)
  await run(account.db, `update verifications set expires_at = now() - interval '1 second' where value = $1`, [
    personId,
  ])
  const invented = `verdict.two_factor=${encodeURIComponent(`2fa-x.${'A'.repeat(43)}=`)}`
  for (const cookie of [ended, invented, await halfway((await victim()).personId)]) {
    expect((await enter('totp', code(), cookie)).signedIn).toBe(false)
    expect((await enter('backup-code', backupCodes[0]!, cookie)).signedIn).toBe(false)
  }
})
