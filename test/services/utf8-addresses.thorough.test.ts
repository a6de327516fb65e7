import { expect, test } from 'vitest'
import { dump, eraseIn } from '../erasure/world.ts'
import { script } from '../sending/world.ts'
import { startApi } from './api.ts'

// Addresses with letters beyond ASCII, wherever an address is stored, matched or shown. Only A to Z match in either
// case: `Ü` and `ü` are two people.

const OFFERS = { ehlo: '250-mx.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8' }
const CAPITAL = 'Ünï.ANN@example.net'
const SMALL = 'ünï.ann@example.net'
const MATCHING = 'Ünï.ann@example.net'

const api = await startApi()

const get = async (path: string) => (await api.call('GET', path)).json
const query = encodeURIComponent

test('to, cc, bcc and reply_to take such an address, in NFC, and its server reads it in the header', async () => {
  script(api.world, OFFERS)
  const decomposed = 'Zoe\u0308@example.net'
  const to = `Ünï <${CAPITAL}>`
  const { json } = await api.send({ to, cc: '用户@example.net', bcc: decomposed, reply_to: 'hilfe.Ö@example.test' })
  expect(json).toMatchObject({
    status: 'delivered',
    recipients: [{ email: CAPITAL }, {}, { email: 'Zoë@example.net' }],
  })
  const header = Buffer.from(api.world.exchanger.messages.at(-1)!.content, 'latin1').toString()
  expect(header).toMatch(/^Reply-To: hilfe\.Ö@example\.test\r$/m)
  expect(header).toMatch(/^To: \S+ <Ünï\.ANN@example\.net>\r$/m)
  expect(header).toMatch(/^Cc: 用户@example\.net\r$/m)
  expect(header).not.toContain('Zoë')
  const shown = await get(`/api/v1/emails/${json.message_id}`)
  expect(shown).toMatchObject({ to: [to], cc: ['用户@example.net'], bcc: ['Zoë@example.net'] })
})

test('a sender has none, and the error says so', async () => {
  const { status, json } = await api.send({ from: 'ünï@example.test' })
  expect([status, json.error]).toEqual([400, 'invalid_address'])
  expect(json.message).toMatch(/^from has a letter beyond ASCII/)
})

test('an address that hides or reorders text is an error that says so', async () => {
  for (const to of ['a\u202eb@example.net', 'ü\u200b@example.net', 'ü\ufffd@example.net']) {
    const { status, json } = await api.send({ to })
    expect([status, json.error]).toEqual([400, 'invalid_address'])
    expect(json.message).toContain('hides or reorders')
  }
})

test('a server without SMTPUTF8 bounces the message with its detail, and suppresses no address', async () => {
  const api = await startApi()
  script(api.world, {})
  const { json } = await api.send({ to: ['ö.one@example.net', 'ann@example.net'] })
  expect(json.status).toBe('bounced')
  for (const { reason, smtp } of json.recipients) {
    expect(reason).toBe('policy_block')
    expect(smtp).toMatchObject({ phase: 'ehlo', detail: expect.stringMatching(/does not offer SMTPUTF8.*header/) })
  }
  const bcc = await api.send({ to: 'ann@example.net', bcc: 'ö.one@example.net' })
  expect(bcc.json.recipients).toMatchObject([
    { email: 'ann@example.net', status: 'delivered' },
    { email: 'ö.one@example.net', reason: 'policy_block', smtp: { detail: expect.stringContaining("recipient's") } },
  ])
  const { json: list } = await api.call('GET', `/api/v1/suppression?email=${query('ö.one@example.net')}`)
  expect(list).toMatchObject({ entries: [] })
})

test('suppression, its import and its removal match by the letters of ASCII alone', async () => {
  script(api.world, OFFERS)
  const added = await api.call('POST', '/api/v1/suppression', { body: { email: CAPITAL } })
  expect(added.json.email).toBe(MATCHING)
  const emails = ['Ünï.Ann@example.net', 'u\u0308x@example.net', 'üx@example.net']
  const imported = await api.call('POST', '/api/v1/suppression/import', { body: { emails } })
  expect(imported.json).toMatchObject({ imported: 1, already_suppressed: 2, invalid: 0 })
  const { json } = await api.send({ to: [MATCHING.toUpperCase().replace('Ï', 'ï'), SMALL] })
  expect(json.recipients).toMatchObject([{ reason: 'suppression_list' }, { status: 'delivered' }])
  expect((await api.call('DELETE', `/api/v1/suppression/${query(SMALL)}`)).status).toBe(404)
  expect(
    (await api.call('DELETE', `/api/v1/suppression/${query('ÜNÏ.ANN@example.net'.replace('Ï', 'ï'))}`)).status,
  ).toBe(200)
})

test('a reply that suppresses, and the lists of emails and events, match in the same way', async () => {
  const gone = 'Ünï.GONE@example.net'
  script(api.world, { ...OFFERS, rcpt: '550 5.1.1 no such user' })
  const { json } = await api.send({ to: gone })
  expect(json.reason).toBe('mailbox_does_not_exist')
  const again = await api.send({ to: 'Ünï.gone@example.net' })
  expect(again.json.reason).toBe('suppression_list')
  for (const path of ['/api/v1/emails', '/api/v1/events']) {
    const found = async (recipient: string) => {
      const { emails, events } = await get(`${path}?recipient=${query(recipient)}`)
      return (emails ?? events).length
    }
    expect(await found('Ünï.Gone@example.net')).toBe(2)
    expect(await found('ünï.gone@example.net')).toBe(0)
  }
})

test('an erasure finds the address in every spelling, and no other address', async () => {
  const email = 'Öz.kan@example.net'
  const other = 'öz.kan@example.net'
  script(api.world, OFFERS)
  const url = (address: string) => `https://example.com/?u=${encodeURIComponent(address)}`
  await api.send({
    to: [`Me <${email}>`, other],
    subject: `x ${email.normalize('NFD')} y`,
    html: url(email),
    text: url(other),
  })
  await api.send({ to: 'ann@example.net', metadata: { a: 'ÖZ.KAN@EXAMPLE.NET', b: other }, tag: email })
  const batch = { emails: [email, other].map((to) => ({ to, from: 'hello@example.test', subject: 'x', text: 'y' })) }
  await api.call('POST', '/api/v1/emails/batch', { body: batch, headers: { 'idempotency-key': 'öz' } })
  await eraseIn(api.world, 'Öz.kan@example.net')
  const rows = (await dump(api.world.db)).map((row) => Buffer.from(row, 'latin1').toString() + row)
  const spellings = [email, email.normalize('NFD'), encodeURIComponent(email), 'ÖZ.KAN@EXAMPLE.NET']
  for (const row of rows) for (const text of spellings) expect(row).not.toContain(text)
  expect(rows.filter((row) => row.includes(other)).length).toBeGreaterThan(2)
})
