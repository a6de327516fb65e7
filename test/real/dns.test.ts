import { beforeAll, expect, test } from 'vitest'
import { type MailWorld, startMailWorld } from './mail-world.ts'

const MANY = Array.from(
  { length: 40 },
  (_, i) => `many MX ${10 + i} a-rather-long-name-of-a-mail-exchanger-number-${i}`,
)
const RECIPIENTS = `
mx A 127.0.0.1
ordinary MX 10 mx
implicit A 127.0.0.1
alias CNAME ordinary
${MANY.join('\n')}
a-rather-long-name-of-a-mail-exchanger-number-0 A 127.0.0.1
null MX 0 .
private MX 10 private-host
private-host A 10.0.0.1
literal MX 10 127.0.0.1.
nameless MX 10 no-such-host
words TXT "no mail here"
`

let world: MailWorld

beforeAll(async () => {
  const domains = ['ordinary', 'implicit', 'alias', 'many']
  world = await startMailWorld({
    recipients: RECIPIENTS,
    postfix: () => ({
      listeners: { '127.0.0.1': {} },
      addresses: Object.fromEntries(domains.map((domain) => [`anna@${domain}.example.net`, 'anna'])),
    }),
  })
})

test.each([
  ['an MX', 'ordinary', 'mx.example.net'],
  ['no MX but an address, which is an implicit MX', 'implicit', 'implicit.example.net'],
  ['an alias for a domain with an MX', 'alias', 'mx.example.net'],
  ['more MX records than fit into UDP', 'many', 'a-rather-long-name-of-a-mail-exchanger-number-0.example.net'],
])('a domain with %s gets its mail', async (_, domain, mx) => {
  const before = await world.postfix.count('anna')
  const { body } = await world.product.send({ to: `anna@${domain}.example.net` })
  expect(body).toMatchObject({ status: 'delivered', smtp: { mx, ip: '127.0.0.1', code: 250 } })
  await world.postfix.mail('anna', before + 1)
})

test.each([
  ['does not exist', 'nothing-of-that-name'],
  ['has neither MX nor address', 'words'],
  ['has an MX whose name does not resolve', 'nameless'],
])('a domain that %s has no mail exchanger', async (_, domain) => {
  const { status, body } = await world.product.send({ to: `anna@${domain}.example.net` })
  expect(status).toBe(200)
  expect(body).toMatchObject({ status: 'bounced', reason: 'no_mx_record', smtp: { phase: 'dns' } })
})

test.each([
  ['a null MX', 'null'],
  ['an MX at a private address', 'private'],
  ['an MX that is an IP literal', 'literal'],
])('mail to a domain with %s is rejected', async (_, domain) => {
  const { status, body } = await world.product.send({ to: `anna@${domain}.example.net` })
  expect(status).toBe(200)
  expect(body).toMatchObject({ status: 'rejected', reason: 'invalid_address' })
})

test('a name server that refuses a query makes the send fail with 500, and nothing is sent or stored', async () => {
  const before = await world.postfix.count('anna')
  const { events } = await world.product.get('/api/v1/events?limit=100')
  const to = ['anna@ordinary.example.net', 'anna@a-zone-it-does-not-have.example.org']
  const { status, body } = await world.product.send({ to })
  expect(status).toBe(500)
  expect(body).toMatchObject({ error: 'transient_failure' })
  expect(await world.product.get('/api/v1/events?limit=100')).toMatchObject({ events })
  expect(await world.postfix.count('anna')).toBe(before)
})
