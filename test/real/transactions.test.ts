import { beforeAll, expect, test } from 'vitest'
import type { Daemon } from './daemon.ts'
import { mailboxConfiguration, startExim } from './exim.ts'
import { type Place, type ServerWorld, startServerWorld } from './mail-world.ts'
import { startOpensmtpd } from './opensmtpd.ts'
import { type PostfixSetup, startPostfix } from './postfix.ts'

// Servers with limits for a transaction, a session or a client. None of the limits is about a recipient.

const ADDRESSES = {
  /** OpenSMTPD: three messages a session. */
  mails: '127.0.0.41',
  /** Postfix: five recipients a transaction. */
  recipients: '127.0.0.42',
  /** Postfix: two connections from one client. */
  connections: '127.0.0.43',
  /** Exim: one recipient domain a transaction, as Google has it. */
  domains: '127.0.0.44',
  /** Exim: five recipients a transaction. */
  few: '127.0.0.45',
  /** Postfix behind postscreen, whose deep tests end with a 450 for a client that it has not seen. */
  screened: '127.0.0.46',
}
type Name = keyof typeof ADDRESSES
const SITE = ['one', 'two', 'three'].map((name) => `${name}.example.net`)
const USERS = Array.from({ length: 50 }, (_, i) => `user${i}`)
/** The first accepted recipient of a message decides on its domain. */
const ONE_DOMAIN = `  defer condition = \${if def:acl_m_domain {\${if eq{$acl_m_domain}{$domain}{no}{yes}}}{no}}
    message = 4.3.0 Multiple destination domains per transaction is unsupported. Please try again.
  warn set acl_m_domain = $domain`

/** Tests that take place after the greeting of postscreen. */
const DEEP_TESTS = ['pipelining', 'non_smtp_command', 'bare_newline']

let world: ServerWorld<Record<Name, Daemon>>

beforeAll(async () => {
  const postfix = (name: Name, limits: Record<string, string>, users: string[]) => (place: Place) => {
    const addresses = Object.fromEntries(users.map((user) => [`${user}@${name}.example.net`, name]))
    // Postfix makes exceptions for loopback.
    const settings: PostfixSetup['settings'] = { smtpd_client_event_limit_exceptions: '' }
    return startPostfix({ ...place, listeners: { [ADDRESSES[name]]: limits }, addresses, settings })
  }
  world = await startServerWorld({
    recipients: [
      ...Object.entries(ADDRESSES).flatMap(([name, address]) => [
        `mx.${name} A ${address}`,
        `${name} MX 10 mx.${name}`,
      ]),
      ...SITE.map((domain) => `${domain}. MX 10 mx.domains`),
    ].join('\n'),
    servers: {
      mails: (place) => {
        const limit = 'smtp limit max-mails 3'
        const setup = { address: ADDRESSES.mails, domain: 'mails.example.net', users: ['mails'], settings: limit }
        return startOpensmtpd(setup, place)
      },
      recipients: postfix('recipients', { smtpd_recipient_limit: '5' }, USERS),
      connections: postfix('connections', { smtpd_client_connection_count_limit: '2' }, ['anna']),
      domains: (place) => {
        const configuration = mailboxConfiguration(place, { domains: SITE, users: ['domains'], acl: ONE_DOMAIN })
        return startExim({ address: ADDRESSES.domains, configuration }, place)
      },
      few: (place) => {
        const configuration = mailboxConfiguration(place, { domains: ['few.example.net'], users: USERS })
        return startExim({ address: ADDRESSES.few, configuration: `recipients_max = 5\n${configuration}` }, place)
      },
      screened: (place) => {
        const addresses = { 'anna@screened.example.net': 'screened' }
        const settings = Object.fromEntries(DEEP_TESTS.map((name) => [`postscreen_${name}_enable`, 'yes']))
        const listeners = { [ADDRESSES.screened]: {} }
        return startPostfix({
          ...place,
          listeners,
          addresses,
          isScreened: true,
          settings: { ...settings, postscreen_greet_wait: '1s' },
        })
      },
    },
  })
})

/** Starts the sends together and returns how often each outcome occurred. */
async function sendTogether(count: number, message: object): Promise<Record<string, number>> {
  const sends = Array.from({ length: count }, () => world.product.send(message))
  const outcomes: Record<string, number> = {}
  for (const { status, body } of await Promise.all(sends)) {
    const outcome = body.reason
      ? `${body.reason}: ${body.smtp?.reply ?? body.smtp?.detail}`
      : `${status} ${body.status}`
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  }
  return outcomes
}

const countOf = (mailbox: string) => expect.poll(() => world.mailboxes.count(mailbox))

test('a server that takes three messages a session gets thirty, ten at a time', async () => {
  for (const total of [10, 20, 30]) {
    expect(await sendTogether(10, { to: 'mails@mails.example.net' })).toEqual({ '200 delivered': 10 })
    await countOf('mails').toBe(total)
  }
})

test('a server that takes five recipients a transaction gets a message to fifty', async () => {
  const { body } = await world.product.send({ to: USERS.map((user) => `${user}@recipients.example.net`) })
  const statuses = body.recipients.map(({ status, smtp }: { status: string; smtp: { reply: string } }) =>
    status === 'delivered' ? status : smtp.reply,
  )
  expect(statuses).toEqual(USERS.map(() => 'delivered'))
  await countOf('recipients').toBe(USERS.length)
})

test('an Exim whose recipients_max is five gets a message to fifty', async () => {
  const { body } = await world.product.send({ to: USERS.map((user) => `${user}@few.example.net`) })
  const replies = body.recipients.map(({ status, smtp }: { status: string; smtp: { reply: string } }) =>
    status === 'delivered' ? status : smtp.reply,
  )
  expect(replies).toEqual(USERS.map(() => 'delivered'))
})

test('the deep tests of postscreen are a temporary failure once, and the retry is delivered', async () => {
  const { body: first } = await world.product.send({ to: 'anna@screened.example.net' })
  expect(first).toMatchObject({
    ...{ status: 'bounced', reason: 'temporary_failure', retryable: true },
    smtp: { phase: 'rcpt', code: 450, enhanced: '4.3.2' },
  })
  const { body: second } = await world.product.send({ to: 'anna@screened.example.net', retry_of: first.message_id })
  expect(second).toMatchObject({ status: 'delivered', smtp: { code: 250 } })
  await countOf('screened').toBe(1)
})

test('a server that allows two connections gets twenty sends at once', async () => {
  expect(await sendTogether(20, { to: 'anna@connections.example.net' })).toEqual({ '200 delivered': 20 })
  await countOf('connections').toBe(20)
})

test('a server that takes one recipient domain a transaction gets a message to three of its domains', async () => {
  const { body } = await world.product.send({ to: SITE.map((domain) => `domains@${domain}`) })
  expect(body.recipients).toMatchObject(SITE.map(() => ({ status: 'delivered', smtp: { code: 250 } })))
  await countOf('domains').toBe(SITE.length)
})
