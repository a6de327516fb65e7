import { expect, test } from 'vitest'
import { startInstance } from './instance.ts'

const instance = await startInstance()

const CANARY = 'kanarienvogel'

test('the log never contains an address, a subject, a key or a secret', async () => {
  const { send, post, get, api, key, environment } = instance
  const everything = {
    to: [`delivered+${CANARY}@simulator.test`, `${CANARY} <${CANARY}@simulator.test>`, `${CANARY}@nowhere.invalid`],
    cc: `"${CANARY}, Ann" <cc+${CANARY}@simulator.test>`,
    bcc: `${CANARY} <bcc+${CANARY}@simulator.test>`,
    from: `"${CANARY}" <${CANARY}@example.test>`,
    reply_to: [`${CANARY}@example.test`, `${CANARY} <reply@example.test>`],
    metadata: { [CANARY]: CANARY },
    tag: CANARY,
    subject: `Subject ${CANARY}`,
    html: `<p>${CANARY}</p>`,
    text: CANARY,
    headers: { 'X-Canary': CANARY },
    tenant_id: CANARY,
    attachments: [{ filename: `${CANARY}.txt`, content: Buffer.from(CANARY).toString('base64') }],
  }
  expect((await send(everything)).status).toBe(200)
  expect((await send(everything, { 'x-service-sandbox': 'true' })).status).toBe(200)
  // A refused request is not in the log either.
  expect((await send({ subject: `${CANARY}\r\n` })).status).toBe(400)
  expect((await send({ to: `${CANARY}@` })).status).toBe(400)
  expect((await send({ cc: `${CANARY} <a@b` })).status).toBe(400)
  expect((await send({ metadata: { [`${CANARY} key`]: CANARY } })).status).toBe(400)
  expect((await send({ tag: `${CANARY}\n` })).status).toBe(400)
  expect((await send({ [CANARY]: 1 })).status).toBe(400)
  expect((await send({ from: `a@${CANARY}.test` })).status).toBe(403)
  expect((await post('/api/v1/emails/send', `{"to": "${CANARY}`)).status).toBe(400)
  expect((await post('/api/v1/emails/send', CANARY, { 'content-type': `text/${CANARY}` })).status).toBe(415)
  expect((await send({}, { authorization: `Bearer svc_live_${CANARY}` })).status).toBe(401)
  expect((await get(`/api/v1/${CANARY}`)).status).toBe(404)
  expect((await get(`/api/v1/events?recipient=${CANARY}@simulator.test`)).status).toBe(200)
  // The same holds when the database refuses a row.
  await instance.database.db.$client`alter table open_messages add constraint refuse check (tenant_id is null)`
  expect((await send(everything)).status).toBe(500)

  const log = api.stdout() + api.stderr()
  expect(log.split('\n').filter((line) => line.includes('"request"')).length).toBeGreaterThan(10)
  expect(log.toLowerCase()).not.toContain(CANARY)
  expect(log).not.toContain(key)
  expect(log).not.toContain(environment.ENCRYPTION_KEYS)
  expect(log).not.toContain('@')
})

test("the log has one line for each request, with its outcome, the recipient's domain and a keyed hash", async () => {
  const { send, api } = instance
  await instance.database.db.$client`alter table open_messages drop constraint if exists refuse`
  const response = await send({ to: 'mailbox_full@simulator.test' }, { 'x-request-id': 'find-me' })
  const { message_id } = (await response.json()) as { message_id: string }
  const requestLines = () =>
    api
      .stdout()
      .split('\n')
      .filter((line) => line.includes('find-me'))
  await expect.poll(requestLines).toHaveLength(1)
  expect(JSON.parse(requestLines()[0]!)).toMatchObject({
    request_id: 'find-me',
    status: 200,
    message_id,
    outcome: 'bounced',
    reason: 'mailbox_full',
    recipients: [{ domain: 'simulator.test', hash: expect.stringMatching(/^[0-9a-f]{16}$/) }],
  })
})
