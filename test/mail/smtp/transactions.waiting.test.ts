import { expect, test, vi } from 'vitest'
import { eventually } from '../../harness/eventually.ts'
import type { Script } from '../../harness/smtp-script.ts'
import { deliveryTo, engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

vi.setConfig({ maxConcurrency: 8 })

/** Engines for tests of order, not of time. */
const patientEngine = () => engineWith({ limits: { commandMs: 10_000, slowRcptMs: 10_000, spreadMs: 60_000 } })

const addresses = (count: number) => Array.from({ length: count }, (_, i) => `user${i}@example.test`)

/** Knows all but the `unknown` ones, accepts this many in a transaction, and answers the others with `refusal`. */
function atMost(max: number, refusal: string, unknown: string[] = []): Script {
  let accepted = 0
  return {
    mail: () => {
      accepted = 0
      return undefined
    },
    rcpt(line) {
      if (unknown.some((address) => line.includes(address))) return '550 5.1.1 no such user'
      return ++accepted > max ? refusal : undefined
    },
  }
}

const WITHOUT_PIPELINING = '250-mx.test\r\n250 8BITMIME'

test.concurrent.each([
  ['452 4.5.3 Too many recipients', undefined],
  ['451 4.5.3 Error: too many recipients', undefined],
  ['552 5.5.3 Too many recipients', undefined],
  ['452 too many recipients', undefined],
  ['550 5.5.3 recipient limit exceeded', undefined],
  ['452 4.5.3 Too many recipients', WITHOUT_PIPELINING],
])(
  'fifty recipients at a server that takes five are delivered in ten transactions of one session (%s)',
  async (refusal, ehlo) => {
    const exchanger = await exchangerWith({ ...atMost(5, refusal), ehlo })
    const recipients = addresses(50).map((address) => ({ address, site: siteOf(exchanger) }))
    const permissions: number[][] = []
    const attempts = await patientEngine().deliver(
      deliveryTo(siteOf(exchanger), {
        recipients,
        beforeDot: async (accepted) => {
          permissions.push(accepted)
          return true
        },
      }),
    )
    expect(attempts.map(outcomeOf)).toEqual(Array(50).fill('delivered'))
    expect(exchanger.sessions).toHaveLength(1)
    expect(exchanger.messages.map(({ to }) => to.length)).toEqual(Array(10).fill(5))
    expect(exchanger.messages.flatMap(({ to }) => to)).toEqual(addresses(50))
    expect(permissions.flat()).toEqual([...Array(50).keys()])
    expect(permissions).toHaveLength(10)
    expect(attempts.map(({ transaction }) => transaction)).toEqual(
      [...Array(50).keys()].map((i) => 1 + Math.floor(i / 5)),
    )
    expect(attempts[49]!.tried).toMatchObject([{ phase: 'rcpt', detail: refusal }])
  },
)

test.concurrent('a server that announces its number of recipients gets no more of them', async () => {
  const exchanger = await exchangerWith({ ehlo: '250-mx.test\r\n250-LIMITS MAILMAX=100 RCPTMAX=20\r\n250 PIPELINING' })
  const site = siteOf(exchanger)
  const recipients = addresses(50).map((address) => ({ address, site }))
  const attempts = await patientEngine().deliver(deliveryTo(site, { recipients }))
  expect(attempts.map(outcomeOf)).toEqual(Array(50).fill('delivered'))
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual([20, 20, 10])
  expect(exchanger.sessions).toHaveLength(1)
})

test.concurrent('a server that announces its number of messages gets no more of them in a session', async () => {
  const exchanger = await exchangerWith({ ehlo: '250-mx.test\r\n250 LIMITS RCPTMAX=5 MAILMAX=2 RCPTDOMAINMAX=1' })
  const [engine, site] = [patientEngine(), siteOf(exchanger)]
  const recipients = addresses(23).map((address) => ({ address, site }))
  const attempts = await engine.deliver(deliveryTo(site, { recipients }))
  expect(attempts.map(outcomeOf)).toEqual(Array(23).fill('delivered'))
  await send(engine, site)
  await send(engine, site)
  const mails = exchanger.sessions.map(({ commands }) => commands.filter((line) => line.startsWith('MAIL')).length)
  expect(mails).toEqual([2, 2, 2, 1])
  expect(exchanger.sessions.slice(0, 3).map(({ commands }) => commands.at(-1))).toEqual(Array(3).fill('QUIT'))
})

test.concurrent.each([
  ['LIMITS RCPTMAX=0'],
  ['LIMITS RCPTMAX'],
  ['LIMITS RCPTMAX=-5'],
  ['LIMITS RCPTMAX=99999999'],
  ['LIMITS'],
])('a limit that is none is ignored (%s)', async (limits) => {
  const exchanger = await exchangerWith({ ehlo: `250-mx.test\r\n250-${limits}\r\n250 PIPELINING` })
  const site = siteOf(exchanger)
  const recipients = addresses(50).map((address) => ({ address, site }))
  await patientEngine().deliver(deliveryTo(site, { recipients }))
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual([50])
})

test.concurrent('a recipient that is refused for itself is settled, and the others go on', async () => {
  const exchanger = await exchangerWith(atMost(5, '452 4.5.3 Too many recipients', ['user3@example.test']))
  const site = siteOf(exchanger)
  const recipients = addresses(12).map((address) => ({ address, site }))
  const attempts = await patientEngine().deliver(deliveryTo(site, { recipients }))
  expect(attempts.map(outcomeOf)).toEqual(
    addresses(12).map((_, i) => (i === 3 ? 'mailbox_does_not_exist' : 'delivered')),
  )
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual([5, 5, 1])
})

test.concurrent('when the only words are about the number and none was accepted, that is the outcome', async () => {
  const exchanger = await exchangerWith({ rcpt: '552 5.5.3 Too many recipients' })
  const site = siteOf(exchanger)
  const recipients = addresses(2).map((address) => ({ address, site }))
  const attempts = await patientEngine().deliver(deliveryTo(site, { recipients }))
  expect(attempts).toMatchObject(
    Array(2).fill({
      outcome: { reason: 'temporary_failure', retryable: true },
      reading: { subject: 'session' },
      reply: { code: 552 },
      phase: 'rcpt',
    }),
  )
  expect(exchanger.sessions).toHaveLength(1)
})

test.concurrent('a server that ends the session over the refused recipients gets the rest over another one', async () => {
  let accepted = 0
  const exchanger = await exchangerWith({
    mail: () => {
      accepted = 0
      return undefined
    },
    rcpt: () => {
      accepted++
      if (accepted <= 4) return undefined
      return accepted <= 8 ? '452 4.5.3 Too many recipients' : { raw: '421 4.7.0 too many errors\r\n', act: 'close' }
    },
  })
  const site = siteOf(exchanger)
  const recipients = addresses(20).map((address) => ({ address, site }))
  const attempts = await patientEngine().deliver(deliveryTo(site, { recipients }))
  expect(attempts.map(outcomeOf)).toEqual(Array(20).fill('delivered'))
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual(Array(5).fill(4))
  expect(exchanger.sessions).toHaveLength(2)
})

/** Takes this many messages in a session, and answers the next one with `refusal`. */
const perSession = (max: number, verb: 'mail' | 'data' | 'rcpt', refusal: string): Script => ({
  [verb]: (...args: [string, number]) => (args[1] % (max + 1) === max ? refusal : undefined),
})

test.concurrent.each([
  ['mail', '452 4.5.3 Too many messages sent'],
  ['mail', '451 4.7.1 later'],
  ['mail', '554 5.5.3 too many messages in this session'],
  ['data', '452 4.4.5 Maximum number of messages per session exceeded.'],
  ['rcpt', '452 4.5.3 too many messages in this session'],
] as const)(
  'a server that takes three messages in a session gets thirty of them, one after the other (%s %s)',
  async (verb, refusal) => {
    const exchanger = await exchangerWith(perSession(3, verb, refusal))
    const [engine, site] = [patientEngine(), siteOf(exchanger)]
    for (let i = 0; i < 30; i++) {
      const attempt = await send(engine, site)
      expect(outcomeOf(attempt)).toBe('delivered')
      expect(attempt.tried?.map(({ phase }) => phase)).toEqual(i % 3 === 0 && i > 0 ? [verb] : undefined)
    }
    expect(exchanger.sessions).toHaveLength(10)
    await eventually(() => expect(exchanger.sessions.filter(({ closed }) => !closed)).toHaveLength(1))
  },
)

test.concurrent.each(['mail', 'data'] as const)(
  'a session that answered %s with 4xx is never used again',
  async (verb) => {
    const exchanger = await exchangerWith({
      [verb]: (_: string, times: number) => (times === 0 ? '451 4.3.0 later' : undefined),
    })
    const [engine, site] = [patientEngine(), siteOf(exchanger)]
    expect(outcomeOf(await send(engine, site))).toBe('temporary_failure')
    expect(await send(engine, site)).toMatchObject({ outcome: { kind: 'delivered' } })
    expect(exchanger.sessions).toHaveLength(2)
    expect(exchanger.sessions[0]!.commands.at(-1)).toBe('QUIT')
  },
)

test.concurrent('a new connection whose MAIL is refused for now is not followed by another one', async () => {
  const exchanger = await exchangerWith({ mail: '452 4.5.3 Too many messages sent' })
  const attempt = await send(patientEngine(), siteOf(exchanger))
  expect(attempt).toMatchObject({ outcome: { reason: 'temporary_failure', retryable: true }, phase: 'mail' })
  expect(exchanger.sessions).toHaveLength(1)
})

test.concurrent('a greylisting server ends the recipients of a reused connection as usual', async () => {
  const exchanger = await exchangerWith({ rcpt: (_, times) => (times === 0 ? undefined : '450 4.2.0 Greylisted') })
  const [engine, site] = [patientEngine(), siteOf(exchanger)]
  await send(engine, site)
  expect(outcomeOf(await send(engine, site))).toBe('temporary_failure')
  expect(exchanger.sessions).toHaveLength(1)
})

test.concurrent('recipients of a further transaction are sent to when the reply to the dot before is lost', async () => {
  const exchanger = await exchangerWith({
    ...atMost(2, '452 4.5.3 Too many recipients'),
    dot: (_, times) => (times === 0 ? 'close' : undefined),
  })
  const site = siteOf(exchanger)
  const recipients = addresses(6).map((address) => ({ address, site }))
  const attempts = await patientEngine().deliver(deliveryTo(site, { recipients }))
  expect(attempts.map(outcomeOf)).toEqual(['in_doubt', 'in_doubt', ...Array(4).fill('delivered')])
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual([2, 2, 2])
  expect(exchanger.sessions).toHaveLength(2)
})

test.concurrent('a permission that is refused ends the further transactions too', async () => {
  const exchanger = await exchangerWith(atMost(2, '452 4.5.3 Too many recipients'))
  const site = siteOf(exchanger)
  const recipients = addresses(6).map((address) => ({ address, site }))
  let asked = 0
  const attempts = await patientEngine().deliver(deliveryTo(site, { recipients, beforeDot: async () => ++asked === 1 }))
  // The server has postponed the last two, and that is what is known of them.
  const [ours, theirs] = ['our_fault', 'temporary_failure']
  expect(attempts.map(outcomeOf)).toEqual(['delivered', 'delivered', ours, ours, theirs, theirs])
  expect([asked, exchanger.messages.length]).toEqual([2, 1])
})

test.concurrent('a recipient whose time is over ends with the reply that postponed it, and no dot is sent too late', async () => {
  const exchanger = await exchangerWith({
    ...atMost(1, '552 5.5.3 Too many recipients'),
    dot: { after: 1_200, act: '250 2.0.0 ok' },
  })
  const site = { ...siteOf(exchanger), limits: { connections: 1, messages: 100 } }
  const recipients = addresses(3).map((address) => ({ address, site }))
  const startedAtMs = performance.now()
  // Dots may be sent for two seconds, and the reply to the second one comes after them.
  const attempts = await patientEngine().deliver(deliveryTo(site, { recipients, startedAtMs, budgetMs: 4_000 }))
  expect(attempts.map(outcomeOf)).toEqual(['delivered', 'delivered', 'temporary_failure'])
  expect(attempts[2]).toMatchObject({
    outcome: { reason: 'temporary_failure', retryable: true },
    phase: 'rcpt',
    reply: { code: 552, enhanced: '5.5.3' },
  })
  expect(exchanger.messages).toHaveLength(2)
  // The budget, and half a second of a busy machine.
  expect(performance.now() - startedAtMs).toBeLessThan(4_500)
})

test.concurrent('recipients that an announced limit kept back end as temporary when the time is over', async () => {
  const exchanger = await exchangerWith({
    ehlo: '250-mx.test\r\n250-LIMITS RCPTMAX=1\r\n250 PIPELINING',
    dot: { after: 2_500, act: '250 2.0.0 ok' },
  })
  const site = { ...siteOf(exchanger), limits: { connections: 1, messages: 100 } }
  const recipients = addresses(2).map((address) => ({ address, site }))
  const attempts = await patientEngine().deliver(deliveryTo(site, { recipients, budgetMs: 4_000 }))
  expect(attempts.map(outcomeOf)).toEqual(['delivered', 'temporary_failure'])
  expect(attempts[1]).toMatchObject({ detail: 'no time was left for a further transaction', mx: 'mx1.example.test' })
})

test.concurrent('further transactions that take their time are side by side over free places', async () => {
  const exchanger = await exchangerWith({
    ehlo: '250-mx.test\r\n250-LIMITS RCPTMAX=5\r\n250 PIPELINING',
    dot: { after: 2_000, act: '250 2.0.0 ok' },
  })
  const site = siteOf(exchanger)
  const recipients = addresses(50).map((address) => ({ address, site }))
  const attempts = await engineWith({ limits: { commandMs: 10_000 } }).deliver(
    deliveryTo(site, { recipients, budgetMs: 20_000 }),
  )
  expect(attempts.map(outcomeOf)).toEqual(Array(50).fill('delivered'))
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual(Array(10).fill(5))
  expect(exchanger.sessions.length).toBeGreaterThan(5)
})

test.concurrent('fifty domains of a site that takes a second for each dot are delivered within twenty seconds', async () => {
  const exchanger = await exchangerWith({ dot: { after: 1_000, act: '250 2.0.0 ok' } })
  const site = siteOf(exchanger)
  const recipients = addresses(50).map((address, i) => ({ address: `${address}${i}`, site }))
  const startedAtMs = performance.now()
  const attempts = await engineWith({ limits: { commandMs: 10_000, dotMs: 15_000, dotShareAtMost: 0.75 } }).deliver(
    deliveryTo(site, { recipients, startedAtMs, budgetMs: 30_000 }),
  )
  expect(attempts.map(outcomeOf)).toEqual(Array(50).fill('delivered'))
  // The promised time: one after the other they would take 50 s.
  expect(performance.now() - startedAtMs).toBeLessThan(20_000)
  expect(new Set(attempts.map(({ transaction }) => transaction)).size).toBe(50)
})

test.concurrent('a message to one recipient has no number of a transaction', async () => {
  const exchanger = await exchangerWith()
  expect((await send(patientEngine(), siteOf(exchanger))).transaction).toBeUndefined()
})
