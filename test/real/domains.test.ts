import { Resolver } from 'node:dns/promises'
import { authenticate } from 'mailauth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eq, sql } from '../../server/db/drizzle.ts'
import { domains } from '../../server/db/schema.ts'
import { eventually } from './daemon.ts'
import { type MailWorld, startMailWorld } from './mail-world.ts'
import { splitTrace } from './mailbox.ts'
import { type Nsd, startNsd } from './nsd.ts'
import { askOpendkim } from './opendkim.ts'

// An account adds a domain, publishes what it is shown at the servers in charge of it, and sends from it. Those servers are an nsd at
// port 53 of an own address of loopback; the product's resolver is another one, whose zone knows nothing of those records.

const NAME = 'news.example.net'
const ZONE = 'example.net'
const IN_CHARGE = '127.0.53.1'
const PEOPLE = `@ NS ns\nns A ${IN_CHARGE}\npeople MX 10 mx\nmx A 127.0.0.1`

let world: MailWorld
let inCharge: Nsd | undefined

beforeAll(async () => {
  world = await startMailWorld({
    recipients: PEOPLE,
    postfix: () => ({ listeners: { '127.0.0.1': {} }, addresses: { [`anna@people.${ZONE}`]: 'anna' } }),
    env: { SMTP_SOURCE_ADDRESSES: '127.0.0.1' },
  })
})
afterAll(async () => {
  await inCharge?.stop()
  await world?.end()
})

// biome-ignore lint/suspicious/noExplicitAny: what REST answers, as a client reads it.
type Json = any

async function call(method: string, path: string, body?: object): Promise<Json> {
  const headers = { authorization: `Bearer ${world.account.key}`, 'content-type': 'application/json' }
  const url = `${world.product.api.url}/api/v1/domains${path}`
  const response = await fetch(url, { method, headers, body: body && JSON.stringify(body) })
  const json = await response.json()
  expect([response.status, json]).toEqual([200, json])
  return json
}

/** Asks until DNS was asked again: a second verification within 5 s has the result of the first. */
function verified(id: string, is: (domain: Json) => boolean): Promise<Json> {
  return eventually(async () => {
    const domain = await call('POST', `/${id}/verify`)
    return is(domain) ? domain : undefined
  })
}

const errorsOf = ({ records }: Json) => records.map(({ error }: Json) => error)

/** Exactly what is shown, as lines of a zone. */
function publish({ records }: Json): Promise<Nsd> {
  const lines = records.map(({ type, host, value, strings = [value] }: Json) => {
    const data = type === 'TXT' ? strings.map((part: string) => `"${part}"`).join(' ') : `${value}.`
    return `${host}. ${type} ${data}`
  })
  // Who evaluates DMARC walks up to the top.
  return startNsd({ [ZONE]: [PEOPLE, ...lines].join('\n'), net: '' }, { also: [IN_CHARGE] })
}

async function republish(domain: Json): Promise<void> {
  await inCharge?.stop()
  inCharge = await publish(domain)
}

const send = () => world.product.send({ from: `Shop <orders@${NAME}>`, to: `anna@people.${ZONE}` })

let mails = 0
/** The next mail in the mailbox, and what its verifiers say of it. */
async function received() {
  const mail = await world.postfix.mail('anna', ++mails)
  const { trace, message } = splitTrace(mail)
  const resolver = new Resolver()
  resolver.setServers([inCharge!.address])
  const { dkim, spf, dmarc } = await authenticate(message, {
    ip: '127.0.0.1',
    helo: 'mail.example.com',
    sender: /^Return-Path: <(.+)>$/m.exec(trace)![1]!,
    resolver: (name, type) => resolver.resolve(name, type as 'TXT'),
  })
  return { opendkim: await askOpendkim(mail, { domain: ZONE, port: inCharge!.port }), dkim, spf, dmarc }
}

let domain: Json

test('a domain whose records are not published yet is pending, says what is missing, and nothing leaves from it', async () => {
  const { domain_id } = await call('POST', '', { domain: NAME })
  domain = await verified(domain_id, ({ records }) => records[0].error !== undefined)
  expect(domain.status).toBe('pending')
  expect(errorsOf(domain)).toEqual([
    `There is no TXT record at rp.${NAME}. Add it.`,
    `There is no MX record at rp.${NAME}. Add it.`,
    `There is no TXT record at ${domain.dkim.selector}._domainkey.${NAME}. Add it.`,
    `There is no TXT record at _dmarc.${NAME}. Add it.`,
  ])
  expect((await send()).body).toMatchObject({ status: 'rejected', reason: 'domain_not_verified' })
})

test('published at the servers in charge exactly as shown, it is verified, although the resolver does not know the records', async () => {
  await republish(domain)
  domain = await verified(domain.domain_id, ({ status }) => status === 'verified')
  expect(errorsOf(domain)).toEqual([undefined, undefined, undefined, undefined])
  for (const { status, observed, value } of domain.records) expect([status, observed]).toEqual(['verified', [value]])
  expect(domain).toMatchObject({ verified_at: expect.any(String), warmup: { day: 1, sent_today: 0 } })
})

test('its mail in a real mailbox: opendkim and mailauth verify it, SPF and DMARC pass and are aligned', async () => {
  // A send may know the domain as it was five seconds ago.
  await eventually(async () => ((await send()).body.status === 'delivered' ? true : undefined))
  const { opendkim, dkim, spf, dmarc } = await received()
  expect(opendkim).toBe(`verification (s=${domain.dkim.selector}, d=${NAME}, 2048-bit key) succeeded`)
  expect(dkim.results).toMatchObject([{ signingDomain: NAME, status: { result: 'pass', aligned: NAME } }])
  expect(spf).toMatchObject({ domain: `rp.${NAME}`, status: { result: 'pass' } })
  expect(dmarc).toMatchObject({
    status: { result: 'pass' },
    policy: 'none',
    alignment: { spf: { result: `rp.${NAME}` }, dkim: { result: NAME } },
  })
})

test('a rotation signs with the next key once its record is seen, and verifiers find it', async () => {
  const first = domain.dkim.selector
  domain = await call('POST', `/${domain.domain_id}/dkim/rotate`)
  const next = domain.dkim.keys.find(({ state }: Json) => state === 'next').selector
  expect((await send()).body.status).toBe('delivered')
  expect((await received()).opendkim).toContain(`(s=${first}, `)

  await republish(domain)
  domain = await verified(domain.domain_id, ({ dkim }) => dkim.selector === next)
  expect(domain.dkim.keys.map(({ state }: Json) => state)).toEqual(['retired', 'active'])
  const { opendkim } = await eventually(async () => {
    expect((await send()).body.status).toBe('delivered')
    const mail = await received()
    return mail.opendkim.includes(`(s=${next}, `) ? mail : undefined
  })
  expect(opendkim).toBe(`verification (s=${next}, d=${NAME}, 2048-bit key) succeeded`)
})

test('when its records are gone for three days it has lapsed: its mail is rejected/domain_not_verified', async () => {
  await republish({ records: [] })
  domain = await verified(domain.domain_id, ({ records }) => records[0].status === 'failed')
  expect(domain.status).toBe('verified')
  expect((await send()).body.status).toBe('delivered')
  const { db } = world.account.database
  await db.update(domains).set({ failingSince: sql`now() - interval '3 days'` }).where(eq(domains.name, NAME))
  domain = await verified(domain.domain_id, ({ status }) => status === 'lapsed')
  const { body } = await eventually(async () => {
    const answer = await send()
    return answer.body.status === 'rejected' ? answer : undefined
  })
  expect(body).toMatchObject({ status: 'rejected', reason: 'domain_not_verified' })
})
