import { createHmac, createPrivateKey, randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { hashKey, kindOfKey } from '../../server/access/api-key.ts'
import { createSessionCookie } from '../../server/access/people/cookie.ts'
import { findInvitation, invite, inviteFirstPerson } from '../../server/access/people/invitations.ts'
import { createLinkTokens } from '../../server/access/people/mail-links.ts'
import { findReset } from '../../server/access/people/password-resets.ts'
import { findSession } from '../../server/access/people/sessions.ts'
import { signingKeys } from '../../server/access/people/signing-keys.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { run } from '../../server/db/statement.ts'
import { findKey } from '../../server/directory/keys.ts'
import { signedHeaders } from '../../server/webhooks/attempt/signature.ts'
import { signIn } from '../harness/person.ts'
import { callSignIn, totp } from '../harness/sign-in.ts'
import { startApi } from '../services/api.ts'

// A stolen dump: every value of every table is tried at every door, and no secret is in it in any writing. The tables
// are those of the database, so one that is added later is in it.

const PASSWORD = 'correct horse battery'

/** What callers and people know, and the database must not tell. */
const secrets = new Map<string, string>()
let dump: Set<string>
let tables: number

const api = await startApi()
beforeAll(async () => {
  const { db, clock, sealer, account } = api.world
  secrets.set('a live key', api.keys.live).set('a test key', api.keys.test)
  const hook = await api.call('PUT', '/api/v1/webhook', {
    body: { url: 'http://127.0.0.1:9/hook', events: ['email.delivery'] },
  })
  secrets.set('a webhook secret', hook.json.secret)
  const { json } = await api.send({ attachments: [{ filename: 'a.txt', content: 'aGVsbG8gYXR0YWNobWVudA==' }] })
  await api.call('GET', `/api/v1/emails/${json.message_id}/receipt`)

  const person = await signIn({ db, clock, sealer }, { accountId: account.id, password: PASSWORD })
  secrets.set('a password', PASSWORD).set('a cookie', decodeURIComponent(person.cookie.split('=')[1]!))
  const { url } = api
  const { cookie } = await callSignIn('/sign-in/email', { email: person.email, password: PASSWORD }, { url })
  const set = await callSignIn('/two-factor/enable', { password: PASSWORD }, { url, cookie })
  await callSignIn('/two-factor/verify-totp', { code: totp(set.json.totpURI) }, { url, cookie })
  secrets.set('the secret of an app', new URL(set.json.totpURI).searchParams.get('secret')!)
  for (const [i, code] of set.json.backupCodes.entries()) secrets.set(`backup code ${i}`, code)

  const requester = { accountId: account.id, actor: { kind: 'operator', name: 'test' } } as const
  const invited = await invite(db, clock, requester, { email: 'bob@people.test', role: 'member', isMailed: true })
  secrets.set('an invitation', invited!.token)
  secrets.set('a mailed invitation', createLinkTokens(sealer, 'invitation').tokenOf(invited!.invitation.id))
  secrets.set('the set-up link', (await db.transaction((tx) => inviteFirstPerson(tx, clock))).token)
  await callSignIn('/sign-out', {}, { url, cookie })
  ;({ values: dump, tables } = await readDump())
})

/** Every text, number and octets of every row; octets in hexadecimal, base64 and as they are. */
async function readDump() {
  const { db } = api.world
  const names = await run<{ name: string }>(
    db,
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
    [],
  )
  const values = new Set<string>()
  for (const { name } of names) {
    const rows = await run<{ row: string }>(db, `select to_jsonb(t)::text as row from ${name} t`, [])
    for (const { row } of rows) for (const leaf of leavesOf(JSON.parse(row))) values.add(leaf)
  }
  return { values, tables: names.length }
}

function leavesOf(value: unknown): string[] {
  if (value === null || typeof value === 'boolean') return []
  if (typeof value === 'object') return Object.values(value).flatMap(leavesOf)
  const text = String(value)
  if (!/^\\x([0-9a-f]{2})*$/.test(text)) return [text]
  const bytes = Buffer.from(text.slice(2), 'hex')
  return [text.slice(2), bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('latin1')]
}

test('the dump has rows of all that was stored', () => {
  expect(tables).toBeGreaterThan(30)
  expect(dump.size).toBeGreaterThan(200)
  expect(secrets.size).toBeGreaterThan(15)
})

test('no secret is in it, in any writing', () => {
  const writings = (secret: string) => {
    const bytes = Buffer.from(secret)
    const decoded = /^whsec_/.test(secret) ? [Buffer.from(secret.slice(6), 'base64')] : []
    return [
      secret,
      ...[bytes, ...decoded].flatMap((one) => [one.toString('hex'), one.toString('base64'), one.toString('base64url')]),
    ]
  }
  const all = [...dump].join('\n')
  for (const [what, secret] of secrets) {
    for (const writing of writings(secret)) expect([what, all.includes(writing)]).toEqual([what, false])
  }
})

test('no value of it is an API key, a session, an invitation or a link of a mail', async () => {
  const { db, clock, sealer } = api.world
  const cookies = createSessionCookie({ keys: signingKeys(sealer), secure: false })
  const [invitationLinks, links] = [createLinkTokens(sealer, 'invitation'), createLinkTokens(sealer, 'reset')]
  const opened: string[] = []
  for (const value of dump) {
    const token = cookies.read(`verdict.session_token=${encodeURIComponent(value)}`)
    const found = {
      key: kindOfKey(value) && (await findKey(db, hashKey(value).toString('hex'))),
      session: token !== undefined && (await findSession(db, clock, token, undefined)),
      invitation: await findInvitation({ db, clock, invitationLinks }, value),
      reset: await findReset({ db, clock, links }, value),
    }
    for (const [door, open] of Object.entries(found)) if (open) opened.push(`${door}: ${value}`)
  }
  expect(opened).toEqual([])
})

/** Whoever has the dump has the tokens of sessions, and may sign them with whatever else is in it. */
test('no value of it signs a cookie or a webhook, as text or as octets', async () => {
  const { sealer } = api.world
  const cookies = createSessionCookie({ keys: signingKeys(sealer), secure: false })
  const keys = [...dump].flatMap((value) => [
    Buffer.from(value),
    Buffer.from(value, 'base64'),
    Buffer.from(value, 'hex'),
  ])
  const secret = secrets.get('a webhook secret')!
  const parts = { body: Buffer.from('{}'), eventId: 'evt_x', dispatchId: 'dsp_x', attempt: 1, timestamp: 1_769_860_800 }
  const honest = new Set(Object.values(signedHeaders({ ...parts, secret })).flatMap((value) => value.split(/[ ,]/)))
  for (const key of keys) {
    const signature = createHmac('sha256', key).update('token').digest('base64')
    expect(cookies.read(`verdict.session_token=${encodeURIComponent(`token.${signature}`)}`)).toBeUndefined()
    const own = createHmac('sha256', key).update('1769860800.{}').digest('hex')
    const standard = createHmac('sha256', key).update('evt_x.1769860800.{}').digest('base64')
    expect([honest.has(own), honest.has(standard)]).toEqual([false, false])
  }
})

test('no value of it is a private key: nobody signs mail or receipts with it', () => {
  const found = [...dump].filter((value) => {
    const bytes = Buffer.from(value, 'base64')
    return [
      () => createPrivateKey(value),
      () => createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' }),
      () => createPrivateKey({ key: bytes, format: 'der', type: 'pkcs1' }),
    ].some((read) => {
      try {
        read()
        return true
      } catch {
        return false
      }
    })
  })
  expect(found).toEqual([])
})

test('what is sealed opens with ENCRYPTION_KEYS alone, and in its own place alone', async () => {
  const { db, sealer } = api.world
  const [key] = await run<{ id: string; sealed: Uint8Array }>(
    db,
    'select id, private_key as sealed from dkim_keys limit 1',
    [],
  )
  const place = { table: 'dkim_keys', column: 'private_key', id: key!.id }
  const sealed = Buffer.from(key!.sealed)
  expect(() => sealer.open(sealed, place)).not.toThrow()
  expect(() => sealer.open(sealed, { ...place, id: '01900000-0000-7000-8000-000000000000' })).toThrow()
  expect(() => sealer.open(sealed, { ...place, table: 'endpoints' })).toThrow()
  const other = createSealer([{ id: 'k1', key: randomBytes(32) }])
  expect(() => other.open(sealed, place)).toThrow()
})
