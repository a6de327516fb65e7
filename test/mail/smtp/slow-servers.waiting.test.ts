import { beforeAll, expect, test, vi } from 'vitest'
import { replyOf } from '../../../bench/verdicts/labelled.ts'
import { classify } from '../../../mail/smtp/classify.ts'
import type { OpenSitePlaces } from '../../../mail/smtp/site-places.ts'
import type { Act, Script } from '../../harness/smtp-script.ts'
import { deliveryTo, engineWith, exchangerWith, outcomeOf, siteOf } from './deliver.ts'

vi.setConfig({ maxConcurrency: 8 })

/** The first refusals compile the patterns, and would hold up the clock of the exchangers here meanwhile. */
beforeAll(() => {
  for (const words of ['User unknown', 'Unknown user', 'User unknown'])
    classify({ phase: 'rcpt', reply: replyOf(`550 5.1.1 ${words}`), mx: 'mx.example.test' })
})

/** A third of the usual times: a budget of 10 s, of which the reply to a dot gets 5 s. */
const THIRD = { dotMs: 5_000, dotShareAtMost: 0.75, commandMs: 3_333, slowRcptMs: 667, slowDotMs: 1_667, spreadMs: 333 }
const engineInThirds = () => engineWith({ limits: THIRD })

const addresses = (count: number, name = 'user') => Array.from({ length: count }, (_, i) => `${name}${i}@example.test`)

async function deliverTo(engine: ReturnType<typeof engineInThirds>, site: ReturnType<typeof siteOf>, to: string[]) {
  const recipients = to.map((address) => ({ address, site }))
  return engine.deliver(deliveryTo(site, { recipients, budgetMs: 10_000 }))
}

/** mox makes strangers wait after the dot, for each recipient of a transaction. */
const mox = async () => {
  const exchanger = await exchangerWith({
    dot: () => ({ after: 4_600 * exchanger.messages.at(-1)!.to.length, act: '250 2.0.0 ok' }),
  })
  return exchanger
}

test.concurrent('a site that takes its time over each recipient after the dot gets one recipient at a time, side by side', async () => {
  const exchanger = await mox()
  const [engine, site] = [engineInThirds(), siteOf(exchanger)]
  expect((await deliverTo(engine, site, addresses(1))).map(outcomeOf)).toEqual(['delivered'])
  expect((await deliverTo(engine, site, addresses(4))).map(outcomeOf)).toEqual(Array(4).fill('delivered'))
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual([1, 1, 1, 1, 1])
})

test.concurrent('a site whose reply to the dot did not come gets one recipient at a time from then on', async () => {
  const exchanger = await mox()
  const [engine, site] = [engineInThirds(), siteOf(exchanger)]
  expect((await deliverTo(engine, site, addresses(3))).map(outcomeOf)).toEqual(Array(3).fill('in_doubt'))
  expect((await deliverTo(engine, site, addresses(3))).map(outcomeOf)).toEqual(Array(3).fill('delivered'))
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual([3, 1, 1, 1])
})

test.concurrent('mox, which makes strangers wait for each recipient, gets one recipient at a time from the first message on', async () => {
  const exchanger = await mox()
  exchanger.script.greeting = '220 mx.test ESMTP mox v0.0.15'
  const attempts = await deliverTo(engineInThirds(), siteOf(exchanger), addresses(3))
  expect(attempts.map(outcomeOf)).toEqual(Array(3).fill('delivered'))
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual([1, 1, 1])
})

test.concurrent('a site that is fast again gets all recipients at a time again', async () => {
  const exchanger = await mox()
  const [engine, site] = [engineInThirds(), siteOf(exchanger)]
  await deliverTo(engine, site, addresses(1))
  exchanger.script = {}
  await deliverTo(engine, site, addresses(3))
  await deliverTo(engine, site, addresses(3))
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual([1, 1, 1, 1, 3])
})

/** Each unknown recipient after the fourth of a transaction takes its time, as at Sendmail. */
function throttlingUnknown(delayMs: number): Script {
  let unknown = 0
  return {
    mail: () => {
      unknown = 0
      return undefined
    },
    rcpt(line): Act | undefined {
      if (!line.includes('unknown')) return undefined
      const reply = '550 5.1.1 User unknown'
      return ++unknown > 4 ? { after: delayMs, act: reply } : reply
    },
  }
}

test.concurrent('a living recipient behind thirty unknown ones, over which a server takes its time, gets the message', async () => {
  const exchanger = await exchangerWith(throttlingUnknown(333))
  const to = [...addresses(30, 'unknown'), 'living@example.test']
  const attempts = await deliverTo(engineInThirds(), siteOf(exchanger), to)
  expect(attempts.map(outcomeOf)).toEqual([...Array(30).fill('mailbox_does_not_exist'), 'delivered'])
  expect(exchanger.messages.map(({ to }) => to)).toEqual([['living@example.test']])
})

test.concurrent('a server that takes its time over each RCPT gets one recipient at a time, side by side', async () => {
  const exchanger = await exchangerWith({ rcpt: { after: 2_600, act: '250 2.1.5 ok' } })
  const [engine, site] = [engineInThirds(), siteOf(exchanger)]
  const attempts = await deliverTo(engine, site, addresses(5))
  expect(attempts.map(outcomeOf)).toEqual(Array(5).fill('delivered'))
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual([1, 1, 1, 1, 1])
  expect(attempts[0]!.tried).toMatchObject([{ phase: 'rcpt', detail: 'too slow for 5 recipients: 0 of them answered' }])
  const sessions = exchanger.sessions.length
  // It is known to be slow from now on.
  expect((await deliverTo(engine, site, addresses(2))).map(outcomeOf)).toEqual(['delivered', 'delivered'])
  expect(exchanger.sessions.flatMap(({ commands }) => commands).filter((line) => line === '.')).toHaveLength(7)
  expect(exchanger.sessions.length).toBe(sessions)
})

test.concurrent('transactions side by side get the places that other processes leave, and not only those at hand', async () => {
  const exchanger = await exchangerWith({ rcpt: { after: 2_600, act: '250 2.1.5 ok' } })
  const engine = engineWith({ limits: THIRD, openPlaces: placesOnDemand })
  const site = siteOf(exchanger)
  await deliverTo(engine, site, addresses(1))
  expect((await deliverTo(engine, site, addresses(5))).map(outcomeOf)).toEqual(Array(5).fill('delivered'))
  expect(exchanger.sessions).toHaveLength(5)
})

/** Two places at first, and twice as many as are wanted a moment later. */
const placesOnDemand: OpenSitePlaces = (_, onChange) => {
  let places = 2
  return {
    count: () => places,
    need({ wanted }) {
      if (wanted <= places) return
      places = wanted * 2
      setImmediate(onChange)
    },
    refused() {},
    refusedRate() {},
    succeeded() {},
    mayMail: () => true,
    leave() {},
  }
}

test.concurrent('a server that is slow but on time gets all recipients in one transaction', async () => {
  const exchanger = await exchangerWith({ rcpt: { after: 300, act: '250 2.1.5 ok' } })
  const attempts = await deliverTo(engineInThirds(), siteOf(exchanger), addresses(5))
  expect(attempts.map(outcomeOf)).toEqual(Array(5).fill('delivered'))
  expect(exchanger.messages.map(({ to }) => to.length)).toEqual([5])
})

test.concurrent('the last host may take what is left of the time for a reply to RCPT', async () => {
  const exchanger = await exchangerWith({ rcpt: { after: 4_000, act: '250 2.1.5 ok' } })
  const attempts = await deliverTo(engineInThirds(), siteOf(exchanger), addresses(1))
  expect(attempts.map(outcomeOf)).toEqual(['delivered'])
})

test.concurrent('two hosts that are slow after RCPT get the message the next time', async () => {
  const slow: Script = { rcpt: { after: 4_000, act: '250 2.1.5 ok' } }
  const site = siteOf(await exchangerWith(slow), await exchangerWith(slow))
  const engine = engineWith({ limits: { ...THIRD, commandMs: 2_000 } })
  expect((await deliverTo(engine, site, addresses(1))).map(outcomeOf)).toEqual(['connection_timeout'])
  expect((await deliverTo(engine, site, addresses(1))).map(outcomeOf)).toEqual(['delivered'])
})
