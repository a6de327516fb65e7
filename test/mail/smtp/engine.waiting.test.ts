import { expect, test } from 'vitest'
import { eventually } from '../../harness/eventually.ts'
import { stopwatch } from '../../harness/stopwatch.ts'
import { quietFor } from '../../harness/waits.ts'
import { deliveryTo, engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

test('with 50 ms to a round trip a reused connection takes 2.0 to 2.2 of them', async () => {
  const exchanger = await exchangerWith()
  exchanger.delayMs = 50
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  await send(engine, site)
  const durations: number[] = []
  for (let i = 0; i < 8; i++) durations.push((await send(engine, site)).durationMs)
  // The quickest counts: a busy machine adds time, not round trips. A timer of 50 ms may end after 49.
  expect(Math.min(...durations) / 50).toBeGreaterThanOrEqual(1.96)
  expect(Math.min(...durations) / 50).toBeLessThan(2.2)
})

test('sites are served side by side, each with its own transaction and its own permission', async () => {
  const slow = { dot: { after: 1_000, act: '250 ok' } }
  const exchangers = [
    await exchangerWith(slow),
    await exchangerWith(slow),
    await exchangerWith({ rcpt: '550 5.1.1 no' }),
  ]
  const sites = exchangers.map((exchanger) => siteOf(exchanger))
  const asked: number[][] = []
  const watch = stopwatch()
  const attempts = await engineWith().deliver(
    deliveryTo(sites[0]!, {
      recipients: [0, 1, 2, 0, 1].map((i, n) => ({ address: `user${n}@site${i}.test`, site: sites[i]! })),
      beforeDot: async (recipients) => asked.push(recipients) > 0,
    }),
  )
  expect(attempts.map(outcomeOf)).toEqual([
    'delivered',
    'delivered',
    'mailbox_does_not_exist',
    'delivered',
    'delivered',
  ])
  // One reply after 1 s. One after the other they would take 2 s.
  expect(watch.ms()).toBeLessThan(1_900)
  expect(asked.sort()).toEqual([
    [0, 3],
    [1, 4],
  ])
  expect(exchangers.map(({ messages }) => messages.length)).toEqual([1, 1, 0])
})

test('the domains of one site are served side by side', async () => {
  const exchanger = await exchangerWith({ dot: { after: 1_000, act: '250 ok' } })
  const site = siteOf(exchanger)
  const watch = stopwatch()
  const recipients = ['a', 'b', 'c', 'd'].map((name) => ({ address: `user@${name}.test`, site }))
  const attempts = await engineWith().deliver(deliveryTo(site, { recipients }))
  expect(attempts.map(outcomeOf)).toEqual(['delivered', 'delivered', 'delivered', 'delivered'])
  // One reply after 1 s. One after the other they would take 4 s.
  expect(watch.ms()).toBeLessThan(1_900)
})

test('a domain waits longer for a connection when another one of its site passes it on', async () => {
  const exchanger = await exchangerWith({ dot: { after: 2_200, act: '250 ok' } })
  const site = { ...siteOf(exchanger), limits: { connections: 1, messages: 100 } }
  const recipients = ['a', 'b', 'c'].map((name) => ({ address: `user@${name}.test`, site }))
  // A site's first domain waits for up to 4 s, and every dot is sent within 6 s. The third one's turn is after 4.4 s.
  const attempts = await engineWith().deliver(deliveryTo(site, { recipients, budgetMs: 12_000 }))
  expect(attempts.map(outcomeOf)).toEqual(['delivered', 'delivered', 'delivered'])
  expect(exchanger.sessions).toHaveLength(1)
})

test.each([['is silent', 'stall']] as const)(
  'a server that refuses every recipient and then %s is not tried again, nor is another one',
  async (_, data) => {
    const [first, second] = [await exchangerWith({ rcpt: '550 5.1.1 no', data }), await exchangerWith()]
    expect(outcomeOf(await send(engineWith(), siteOf(first, second)))).toBe('mailbox_does_not_exist')
    await eventually(() => expect(first.sessions[0]!.closed).toBe(true))
    await quietFor(20)
    expect([first.sessions.length, second.sessions.length]).toEqual([1, 0])
  },
)

test('a server that refuses the sender and then falls silent costs one timeout, not one for each recipient', async () => {
  const exchanger = await exchangerWith({ mail: '550 5.7.1 no', rcpt: 'stall' })
  const site = siteOf(exchanger)
  const recipients = [1, 2, 3, 4].map((i) => ({ address: `user${i}@example.test`, site }))
  const watch = stopwatch()
  const attempts = await engineWith({ limits: { commandMs: 1_000 } }).deliver(deliveryTo(site, { recipients }))
  expect(attempts.map(outcomeOf)).toEqual(Array(4).fill('policy_block'))
  // Two timeouts would take 2 s.
  expect(watch.ms()).toBeLessThan(1_900)
})
