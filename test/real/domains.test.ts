import { Resolver } from 'node:dns/promises'
import { authenticate } from 'mailauth'
import { beforeAll, expect, test } from 'vitest'
import { eq, sql } from '../../server/db/drizzle.ts'
import { domains } from '../../server/db/schema.ts'
import { eventually } from './daemon.ts'
import { type MailWorld, startMailWorld } from './mail-world.ts'
import { splitTrace } from './mailbox.ts'
import { type Nsd, startNsd } from './nsd.ts'
import { verifyWithOpendkim } from './opendkim.ts'

// An account adds a domain, publishes the records it is shown on the domain's authoritative server, and sends from it.
// That server is an nsd on port 53 of a separate loopback address. The product's resolver is another nsd, whose zone
// does not have those records.

const NAME = 'news.example.net'
const ZONE = 'example.net'
const AUTHORITATIVE_ADDRESS = '127.0.53.1'
const PEOPLE = `@ NS ns\nns A ${AUTHORITATIVE_ADDRESS}\npeople MX 10 mx\nmx A 127.0.0.1`

let world: MailWorld
let authoritativeServer: Nsd | undefined

beforeAll(async () => {
  world = await startMailWorld({
    recipients: PEOPLE,
    postfix: () => ({ listeners: { '127.0.0.1': {} }, addresses: { [`anna@people.${ZONE}`]: 'anna' } }),
    env: { SMTP_SOURCE_ADDRESSES: '127.0.0.1' },
  })
})

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a REST response, as a client reads it.
type Json = any

async function post(path: string, body?: object): Promise<Json> {
  const headers = { authorization: `Bearer ${world.account.key}`, 'content-type': 'application/json' }
  const url = `${world.product.api.url}/api/v1/domains${path}`
  const response = await fetch(url, { method: 'POST', headers, body: body && JSON.stringify(body) })
  const json = await response.json()
  expect([response.status, json]).toEqual([200, json])
  return json
}

/** Verifies until the domain matches. A second verification within 5 s has the result of the first. */
function verifyUntil(id: string, matches: (domain: Json) => boolean): Promise<Json> {
  return eventually(async () => {
    const domain = await post(`/${id}/verify`)
    return matches(domain) ? domain : undefined
  })
}

const errorsOf = ({ records }: Json) => records.map(({ error }: Json) => error)

/** Starts an authoritative server with exactly the records that the API shows. */
function publish({ records }: Json): Promise<Nsd> {
  const lines = records.map(({ type, host, value, strings = [value] }: Json) => {
    const data = type === 'TXT' ? strings.map((part: string) => `"${part}"`).join(' ') : `${value}.`
    return `${host}. ${type} ${data}`
  })
  // A DMARC verifier looks up all parent domains, up to the top-level domain.
  return startNsd({ [ZONE]: [PEOPLE, ...lines].join('\n'), net: '' }, { also: [AUTHORITATIVE_ADDRESS] })
}

async function republish(domain: Json): Promise<void> {
  await authoritativeServer?.stop()
  authoritativeServer = await publish(domain)
}

const send = () => world.product.send({ from: `Shop <orders@${NAME}>`, to: `anna@people.${ZONE}` })

let mails = 0
/** Reads the next mail in the mailbox and returns the results of its verifiers. */
async function verifyNextMail() {
  const mail = await world.postfix.mail('anna', ++mails)
  const { trace, message } = splitTrace(mail)
  const resolver = new Resolver()
  resolver.setServers([authoritativeServer!.address])
  const { dkim, spf, dmarc } = await authenticate(message, {
    ip: '127.0.0.1',
    helo: 'mail.example.com',
    sender: /^Return-Path: <(.+)>$/m.exec(trace)![1]!,
    resolver: (name, type) => resolver.resolve(name, type as 'TXT'),
  })
  return {
    opendkim: await verifyWithOpendkim(mail, { domain: ZONE, port: authoritativeServer!.port }),
    dkim,
    spf,
    dmarc,
  }
}

let domain: Json

test('a domain without published records is pending, lists what is missing, and cannot send', async () => {
  const { domain_id } = await post('', { domain: NAME })
  domain = await verifyUntil(domain_id, ({ records }) => records[0].error !== undefined)
  expect(domain.status).toBe('pending')
  expect(errorsOf(domain)).toEqual([
    `There is no TXT record at rp.${NAME}. Add it.`,
    `There is no MX record at rp.${NAME}. Add it.`,
    `There is no TXT record at ${domain.dkim.selector}._domainkey.${NAME}. Add it.`,
    `There is no TXT record at _dmarc.${NAME}. Add it.`,
  ])
  expect((await send()).body).toMatchObject({ status: 'rejected', reason: 'domain_not_verified' })
})

test('a domain is verified by the records on its authoritative server, even if the resolver does not have them', async () => {
  await republish(domain)
  domain = await verifyUntil(domain.domain_id, ({ status }) => status === 'verified')
  expect(errorsOf(domain)).toEqual([undefined, undefined, undefined, undefined])
  for (const { status, observed, value } of domain.records) expect([status, observed]).toEqual(['verified', [value]])
  expect(domain).toMatchObject({ verified_at: expect.any(String), warmup: { day: 1, sent_today: 0 } })
})

test('opendkim and mailauth verify mail of the domain in a real mailbox, and SPF and DMARC pass with alignment', async () => {
  // A send may use the state of the domain of five seconds ago.
  await eventually(async () => ((await send()).body.status === 'delivered' ? true : undefined))
  const { opendkim, dkim, spf, dmarc } = await verifyNextMail()
  expect(opendkim).toBe(`verification (s=${domain.dkim.selector}, d=${NAME}, 2048-bit key) succeeded`)
  expect(dkim.results).toMatchObject([{ signingDomain: NAME, status: { result: 'pass', aligned: NAME } }])
  expect(spf).toMatchObject({ domain: `rp.${NAME}`, status: { result: 'pass' } })
  expect(dmarc).toMatchObject({
    status: { result: 'pass' },
    policy: 'none',
    alignment: { spf: { result: `rp.${NAME}` }, dkim: { result: NAME } },
  })
})

test('after a rotation mail is signed with the next key once its record is published, and verifiers find it', async () => {
  const first = domain.dkim.selector
  domain = await post(`/${domain.domain_id}/dkim/rotate`)
  const next = domain.dkim.keys.find(({ state }: Json) => state === 'next').selector
  expect((await send()).body.status).toBe('delivered')
  expect((await verifyNextMail()).opendkim).toContain(`(s=${first}, `)

  await republish(domain)
  domain = await verifyUntil(domain.domain_id, ({ dkim }) => dkim.selector === next)
  expect(domain.dkim.keys.map(({ state }: Json) => state)).toEqual(['retired', 'active'])
  const { opendkim } = await eventually(async () => {
    expect((await send()).body.status).toBe('delivered')
    const mail = await verifyNextMail()
    return mail.opendkim.includes(`(s=${next}, `) ? mail : undefined
  })
  expect(opendkim).toBe(`verification (s=${next}, d=${NAME}, 2048-bit key) succeeded`)
})

test('a domain lapses when its records are missing for three days, and its mail is rejected/domain_not_verified', async () => {
  await republish({ records: [] })
  domain = await verifyUntil(domain.domain_id, ({ records }) => records[0].status === 'failed')
  expect(domain.status).toBe('verified')
  expect((await send()).body.status).toBe('delivered')
  const { db } = world.account.database
  await db.update(domains).set({ failingSince: sql`now() - interval '3 days'` }).where(eq(domains.name, NAME))
  domain = await verifyUntil(domain.domain_id, ({ status }) => status === 'lapsed')
  const { body } = await eventually(async () => {
    const response = await send()
    return response.body.status === 'rejected' ? response : undefined
  })
  expect(body).toMatchObject({ status: 'rejected', reason: 'domain_not_verified' })
})
