import { expect, test, vi } from 'vitest'
import { eventually } from '../../harness/eventually.ts'
import type { Script } from '../../harness/smtp-script.ts'
import { engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

vi.setConfig({ maxConcurrency: 8 })

const REFUSED = '421 4.7.0 too many connections from you'

/** An engine for tests of order, not of time. */
const patientEngine = () => engineWith({ limits: { commandMs: 10_000 } })

const shared = patientEngine()

/** A server that greets at most this many connections at a time, and refuses the others as `refusal` says. */
async function serverWithPlaces(places: number, { refusal = REFUSED, ...script }: Script & { refusal?: string } = {}) {
  const most = { open: 0, refused: 0 }
  const exchanger = await exchangerWith({
    greeting: () => {
      const open = exchanger.sessions.filter(({ closed }, i) => !closed && !refused.has(i)).length
      if (open > places) {
        refused.add(exchanger.sessions.length - 1)
        most.refused++
        return { raw: `${refusal}\r\n`, act: 'close' as const }
      }
      most.open = Math.max(most.open, open)
      return undefined
    },
    ...script,
  })
  const refused = new Set<number>()
  return { exchanger, most, site: siteOf(exchanger) }
}

const many = <T>(count: number, make: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)))

test.concurrent.each([
  [REFUSED],
  ['421 too many sessions'],
  ['450 4.7.1 too many connections, slow down'],
  ['554 5.7.0 Too many concurrent connections from your address'],
])('twenty concurrent sends to a server that takes two connections wait for a place (%s)', async (refusal) => {
  const { most, site } = await serverWithPlaces(2, { refusal, dot: { after: 100, act: '250 2.0.0 ok' } })
  const attempts = await many(20, () => send(shared, site))
  expect(attempts.map(outcomeOf)).toEqual(Array(20).fill('delivered'))
  expect(most.open).toBe(2)
  // The site is slowed from now on: nothing is refused again.
  const { refused } = most
  expect((await many(20, () => send(shared, site))).map(outcomeOf)).toEqual(Array(20).fill('delivered'))
  expect(most.refused).toBe(refused)
})

test.concurrent('a send that was refused a connection says so among its tries', async () => {
  const { site } = await serverWithPlaces(1, { dot: { after: 100, act: '250 2.0.0 ok' } })
  const [first, second] = await many(2, () => send(shared, site))
  const refused = [first!, second!].find(({ tried }) => tried)
  expect(refused).toMatchObject({
    outcome: { kind: 'delivered' },
    reused: true,
    tried: [{ phase: 'greeting', detail: '421 4.7.0 too many connections from you' }],
  })
})

test.concurrent('a send that was refused twice ends with the reply, after two connections', async () => {
  const exchanger = await exchangerWith({ greeting: { raw: `${REFUSED}\r\n`, act: 'close' } })
  const attempt = await send(patientEngine(), siteOf(exchanger))
  expect(attempt).toMatchObject({
    outcome: { kind: 'bounced', reason: 'temporary_failure', retryable: true },
    phase: 'greeting',
    reply: { code: 421, enhanced: '4.7.0' },
  })
  expect(exchanger.sessions).toHaveLength(2)
})

test.concurrent('after a refused connection the other host gets the message', async () => {
  const full = await exchangerWith({ greeting: { raw: `${REFUSED}\r\n`, act: 'close' } })
  const other = await exchangerWith()
  const attempt = await send(patientEngine(), siteOf(full, other))
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, mx: 'mx2.example.test' })
  expect([full.sessions.length, other.sessions.length]).toEqual([1, 1])
})

test.concurrent('a send that finds no place in time ends with the reply that refused it', async () => {
  const { exchanger, site } = await serverWithPlaces(1, { dot: 'stall' })
  const engine = patientEngine()
  const first = send(engine, site, { budgetMs: 6_000 })
  await eventually(() => expect(exchanger.messages).toHaveLength(1))
  const second = await send(engine, site, { budgetMs: 2_000 })
  expect(second).toMatchObject({ outcome: { reason: 'temporary_failure', retryable: true }, reply: { code: 421 } })
  await first
})

test.concurrent('another refusal at the greeting leads to no second connection with the same host', async () => {
  const exchanger = await exchangerWith({ greeting: '450 4.3.2 not now' })
  expect(outcomeOf(await send(patientEngine(), siteOf(exchanger)))).toBe('temporary_failure')
  expect(exchanger.sessions).toHaveLength(1)
})

test.concurrent('the connections of a slowed site are closed before others are opened', async () => {
  // Each connection carries three messages.
  const { most, site } = await serverWithPlaces(2, { dot: { after: 20, act: '250 2.0.0 ok' } })
  const engine = patientEngine()
  const short = { ...site, limits: { connections: 20, messages: 3 } }
  expect((await many(60, () => send(engine, short))).map(outcomeOf)).toEqual(Array(60).fill('delivered'))
  expect(most.open).toBe(2)
})
