import { beforeAll, expect, test } from 'vitest'
import { encryptionKeys } from '../../server/config/values.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { run } from '../../server/db/statement.ts'
import { createNotificationUrls } from '../../server/notices/notification-urls.ts'
import { type Instance, startInstance } from '../e2e/instance.ts'
import { addPerson } from '../harness/person.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { untilEnd } from '../harness/until-end.ts'
import { mailText } from '../notices/mail-text.ts'
import { type Aiosmtpd, startAiosmtpd } from './aiosmtpd.ts'
import { eventually } from './daemon.ts'

// The API process notifies a person at a real mailbox, and a chat. Each test goes on where the one before it ended.

/** The service looks every 15 seconds, and sends every 2. */
const NOTICED_MS = 40_000

let mailbox: Aiosmtpd
let chat: Receiver
let instance: Instance

beforeAll(async () => {
  mailbox = await startAiosmtpd()
  chat = untilEnd(await startReceiver())
  instance = await startInstance({
    NOTIFY_FROM: 'verdict@example.test',
    SMTP_ROUTES: `people.test=127.0.0.1:${mailbox.port}`,
    WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
    WEBHOOK_SCHEDULE: '0,1s,1s,1s,1s,1s',
    PUBLIC_URL: 'http://verdict.test',
  })
  const { db } = instance.database
  const accountId = instance.account.id
  await addPerson(db, { accountId, email: 'ann@people.test', password: 'the password of ann' })
  const sealer = createSealer(encryptionKeys(instance.environment.ENCRYPTION_KEYS))
  const operator = { accountId, actor: { kind: 'operator', name: 'op' } } as const
  await createNotificationUrls({ db, sealer }).set(accountId, `http://127.0.0.1:${chat.port}/services/secret`, operator)
}, 120_000)

/** The text of the newest mail, once the mailbox holds `count` of them. */
async function mail(count: number): Promise<string> {
  await eventually(async () => ((await mailbox.count('all')) >= count ? true : undefined), NOTICED_MS)
  return mailText(await mailbox.mail('all', count))
}

/** The text of a post to the chat, from 1. */
async function post(number: number): Promise<string> {
  const request = await eventually(async () => chat.requests[number - 1], NOTICED_MS)
  expect(request).toMatchObject({ method: 'POST', path: '/services/secret' })
  return JSON.parse(request.body.toString()).text
}

const sql = (statement: string) => run(instance.database.db, statement)

test('an endpoint that fails for five minutes, and its next acknowledgement, reach a mailbox and a chat', async () => {
  const endpoint = await startReceiver()
  endpoint.script = { status: 503 }
  await instance.put('/api/v1/webhook', JSON.stringify({ url: endpoint.url }))
  await instance.send()
  await eventually(async () => {
    const late = await sql(`update open_dispatches set attempt = 2, created_at = now() - interval '6 minutes'
      where exists (select from webhook_hours where failed > 0) returning id`)
    return late.length > 0 ? true : undefined
  }, NOTICED_MS)
  const failing = `Your webhook endpoint at 127.0.0.1:${endpoint.port}`
  const text = await mail(1)
  expect(text).toContain(`Subject: ${failing} fails`)
  expect(text).toContain('To: ann@people.test')
  expect(text).toMatch(/^DKIM-Signature: /m)
  expect(text).toMatch(/http:\/\/verdict\.test\/dashboard\/acc_\w+\/settings\/webhook/)
  expect(text).not.toContain('simulator.test')
  expect(await post(1)).toMatch(/has acknowledged no event since .* One event waits for it\./)
  endpoint.script = {}
  await instance.send()
  expect(await mail(2)).toContain('works again')
  expect(await post(2)).toContain('acknowledges events again')
  await endpoint.close()
})

test('the link of a new password arrives, and none for an address without a person', async () => {
  const ask = (email: string) =>
    fetch(`${instance.api.url}/verdict.admin.v1.SignInService/RequestPasswordReset`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'connect-protocol-version': '1' },
      body: JSON.stringify({ email }),
    })
  expect((await ask('bob@people.test')).status).toBe(200)
  expect((await ask('ann@people.test')).status).toBe(200)
  expect(await mail(3)).toMatch(/http:\/\/verdict\.test\/dashboard\/reset\/[\w-]{64}/)
  const waiting = () => sql(`select id from notices where state = 'waiting'`)
  await eventually(async () => ((await waiting()).length === 0 ? true : undefined))
  expect(await mailbox.count('all')).toBe(3)
})

test('domains that lapse at the same time are one mail and one message', async () => {
  const accountId = instance.account.id
  await sql(`insert into domains (id, account_id, name, status, checked_at)
    select gen_random_uuid(), '${accountId}', name, 'lapsed', now() from unnest(array['a.test', 'b.test', 'c.test']) as name`)
  const text = await mail(4)
  expect(text).toMatch(/^Subject: [abc]\.test is no longer verified \(and 2 more\)$/m)
  expect(text.match(/dashboard\/acc_\w+\/domains\/dom_\w+/g)).toHaveLength(3)
  expect((await post(3)).match(/The DNS records of [abc]\.test have failed/g)).toHaveLength(3)
  const waiting = () => sql(`select id from notices where state = 'waiting'`)
  await eventually(async () => ((await waiting()).length === 0 ? true : undefined))
  expect([await mailbox.count('all'), chat.requests.length]).toEqual([4, 3])
})

test('the account sees nothing of these mails', async () => {
  for (const path of ['emails', 'events']) {
    const text = await (await instance.get(`/api/v1/${path}`)).text()
    expect(text).not.toContain('people.test')
  }
})
