import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { type Exchanger, startExchanger } from '../harness/exchanger.ts'
import { untilEnd } from '../harness/until-end.ts'
import type { Daemon } from './daemon.ts'
import { mailboxConfiguration, startExim } from './exim.ts'
import { type Place, type ServerWorld, startServerWorld } from './mail-world.ts'
import { unpackedFile } from './unpacked.ts'

// Each name is an Exim with its own configuration, and the domain `<name>.example.net`.
const ADDRESSES = {
  /** Asks the host of the return path about our envelope sender. That host knows no such user. */
  refused: '127.0.0.31',
  /** Asks the listener of the product. */
  verified: '127.0.0.32',
  /** Waits before its reply to RCPT. */
  slow: '127.0.0.33',
  /** The example configuration that Exim ships, which does not deliver to addresses of loopback. */
  shipped: '127.0.0.34',
  /** The same, for which loopback is the Internet. */
  people: '127.0.0.35',
  /** Looks the recipients up after the content. */
  late: '127.0.0.36',
  /** Closes when it refuses a recipient. */
  dropping: '127.0.0.37',
}
type Name = keyof typeof ADDRESSES
const NAMES = Object.keys(ADDRESSES) as Name[]
const DNS_ADDRESS = '127.0.53.2'
const CALLOUT = '  require verify = sender/callout=10s'
const DELAY = '  warn delay = 4s'
const LATE = `  deny message = 5.1.1 User unknown\n    condition = \${if match{$recipients}{gone@}}`
const DROPPING = '  drop message = 5.1.1 User unknown\n    local_parts = gone'

let world: ServerWorld<Record<Name, Daemon>>
let bounceHost: Exchanger

beforeAll(async () => {
  bounceHost = untilEnd(await startExchanger({ rcpt: (line) => `550 5.1.1 ${/<.*>/.exec(line)}: User unknown` }))
  const bouncePort = await freePort()
  const own =
    (name: Name, more: { acl?: string; dataAcl?: string; users?: string[]; bouncePort?: number }) => (place: Place) => {
      const configuration = mailboxConfiguration(place, { domains: [`${name}.example.net`], users: ['anna'], ...more })
      return startExim({ address: ADDRESSES[name], configuration }, place)
    }
  const example = (name: Name, edits: [string, string][]) => async (place: Place) =>
    startExim(
      {
        address: ADDRESSES[name],
        configuration: await exampleConfiguration(place, edits),
        users: ['anna', 'bob'],
        dnsAddress: DNS_ADDRESS,
      },
      place,
    )
  const zone = NAMES.flatMap((name) => [`${name} MX 10 mx.${name}`, `mx.${name} A ${ADDRESSES[name]}`])
  world = await startServerWorld({
    recipients: zone.join('\n'),
    senders: 'mail.shop A 127.0.0.39',
    dnsAddress: DNS_ADDRESS,
    servers: {
      refused: own('refused', { acl: CALLOUT, bouncePort: bounceHost.port }),
      verified: own('verified', { acl: CALLOUT, bouncePort }),
      slow: own('slow', { acl: DELAY }),
      late: own('late', { dataAcl: LATE, users: ['anna', 'gone'] }),
      dropping: own('dropping', { acl: DROPPING }),
      shipped: example('shipped', []),
      people: example('people', [['ignore_target_hosts = 0.0.0.0 : 127.0.0.0/8', '']]),
    },
    env: { BOUNCE_PORT: String(bouncePort) },
  })
})

/** The example, with mailboxes in the folder of the test, and without its exceptions for loopback. */
async function exampleConfiguration({ mailboxes }: Place, edits: [string, string][]): Promise<string> {
  const aliases = `${mailboxes}/aliases`
  await writeFile(aliases, '')
  const example = readFileSync(unpackedFile('exim4-base', 'usr/share/doc/exim4-base/examples/example.conf'), 'utf8')
  const all: [string, string][] = [
    ['domainlist local_domains = @', 'domainlist local_domains = people.example.net : shipped.example.net'],
    ['hostlist   relay_from_hosts = localhost', 'hostlist relay_from_hosts ='],
    ['{/etc/aliases}', `{${aliases}}`],
    ['file = /var/mail/$local_part_data', `directory = ${mailboxes}/$local_part_data\n  maildir_format`],
    ...edits,
  ]
  return all.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`The example of Exim has no ${from}`)
    return text.replace(from, to)
  }, example)
}

const suppressed = async (email: string) =>
  (await world.product.get(`/api/v1/suppression?email=${email}`)).entries.length

test('a callout whose bounce host answers 550 is about our address: a policy block that suppresses no mailbox', async () => {
  const to = 'anna@refused.example.net'
  for (const _ of [1, 2]) {
    const { body } = await world.product.send({ to })
    expect(body).toMatchObject({
      status: 'bounced',
      reason: 'policy_block',
      smtp: { phase: 'rcpt', code: 550, mx: 'mx.refused.example.net' },
    })
    expect(body.smtp.reply).toMatch(/Verification failed for <b\S*@rp\.shop\.example\.com>/)
    expect(body.smtp.reply).toMatch(/550 5\.1\.1 .*User unknown/)
    expect(body.smtp.read_as).toMatch(/^sender /)
  }
  expect(await suppressed(to)).toBe(0)
})

test('a callout to the listener of the product finds our envelope sender, and the mail arrives', async () => {
  const { body } = await world.product.send({ to: 'anna@verified.example.net' })
  expect(body).toMatchObject({ status: 'delivered', smtp: { code: 250 } })
  expect(String(await world.mailboxes.mail('anna'))).toContain('Return-path: <b+')
})

test('the example configuration refuses an envelope sender whose domain it cannot route, and suppresses no mailbox', async () => {
  const to = 'anna@shipped.example.net'
  const { body } = await world.product.send({ to })
  expect(body).toMatchObject({ status: 'bounced', reason: 'policy_block', smtp: { phase: 'rcpt', code: 550 } })
  expect(body.smtp.read_as).toMatch(/^sender /)
  expect(await suppressed(to)).toBe(0)
})

test.each(['late', 'dropping'] as const)(
  'one unknown recipient of two is refused alone by a server that is %s',
  async (name) => {
    const to = ['gone', 'anna'].map((user) => `${user}@${name}.example.net`)
    const { body } = await world.product.send({ to })
    expect(body.recipients).toMatchObject([
      { status: 'bounced', reason: 'mailbox_does_not_exist', smtp: { code: 550 } },
      { status: 'delivered', smtp: { code: 250 } },
    ])
    expect(await Promise.all(to.map(suppressed))).toEqual([1, 0])
  },
)

test('the example configuration refuses living recipients beside many unknown ones, and neither is suppressed', async () => {
  const unknown = Array.from({ length: 12 }, (_, i) => `unknown${i}@people.example.net`)
  const living = ['anna@people.example.net', 'bob@people.example.net']
  const { body } = await world.product.send({ to: [...unknown, ...living] })
  const reasons = body.recipients.slice(0, 10).map(({ reason }: { reason: string }) => reason)
  expect(new Set(reasons)).toEqual(new Set(['mailbox_does_not_exist']))
  for (const recipient of body.recipients.slice(-2)) {
    expect(recipient).toMatchObject({
      status: 'bounced',
      reason: 'policy_block',
      smtp: {
        phase: 'rcpt',
        code: 550,
        reply: /Rejected for too many bad recipients/,
        read_as: 'sender (bad recipients)',
      },
    })
  }
  expect(await Promise.all(living.map(suppressed))).toEqual([0, 0])
  // They are alive: the next mail arrives.
  const before = await world.mailboxes.count('bob')
  const next = await world.product.send({ to: living })
  expect(next.body.recipients).toMatchObject([{ status: 'delivered' }, { status: 'delivered' }])
  await world.mailboxes.mail('bob', before + 1)
})

test('a server that waits before its reply to RCPT gets the mail', async () => {
  const { body } = await world.product.send({ to: 'anna@slow.example.net' })
  expect(body).toMatchObject({ status: 'delivered', smtp: { code: 250, phase: 'dot' } })
  expect(body.smtp.duration_ms).toBeGreaterThan(4_000)
})
