import { test } from 'vitest'
import { waitForDayOf } from '../harness/periods.ts'
import { letRun, pauseFor } from '../harness/waits.ts'
import type { Letter } from './letters.ts'
import { runLoad, tally } from './load.ts'
import type { Node } from './node.ts'
import { PER_MINUTE, rateOf, TINY } from './rates.ts'
import { diceFor } from './seed.ts'
import { openRows } from './snapshot.ts'
import { startFaultWorld } from './world.ts'

// The tests run at the same time, because the first one mostly waits for windows to end.

test.concurrent('no window admits more requests than the tier allows, over two processes and a kill', async ({
  expect,
  onTestFinished,
}) => {
  const world = await startFaultWorld({ limits: TINY })
  onTestFinished(world.stop)
  await world.sql`update accounts set tier = 'tiny'`
  await Promise.all([world.start(), world.start()])
  const dice = diceFor('rates')
  const rates: ReturnType<typeof rateOf>[] = []
  let isOver = false
  async function call(): Promise<void> {
    while (!isOver) {
      const response = await dice
        .pick([...world.nodes])
        .client.get('/api/v1/webhooks')
        .catch(() => undefined)
      if (response) rates.push(rateOf(response))
      // The second window is used up, too.
      isOver ||= rates.some(({ admitted, reset }) => !admitted && reset !== rates[0]!.reset)
      await pauseFor(dice.between(100, 500))
    }
  }
  const calls = Array.from({ length: 20 }, call)
  await letRun(300)
  const [victim] = world.nodes
  await world.start()
  victim!.kill()
  await victim!.cleanUp()
  await Promise.all(calls)
  const windows = [...Map.groupBy(rates, ({ reset }) => reset).values()].map((window) => ({
    admitted: window.filter(({ admitted }) => admitted).length,
    refused: window.filter(({ admitted }) => !admitted).length,
  }))
  console.log('windows', windows)
  // A killed process may have admitted requests whose responses never arrived.
  expect(windows.every(({ admitted }) => admitted <= PER_MINUTE && admitted > PER_MINUTE - 25)).toBe(true)
  expect(windows).toHaveLength(2)
})

const DAILY = 600

/** Letters to one or two recipients that a mail server accepts. */
function* acceptedLetters(purpose: string): Generator<Letter> {
  const dice = diceFor(purpose)
  for (let i = 1; ; i++) {
    const names = dice.chance(0.3) ? ['ann', 'bob'] : ['ann']
    const to = names.map((name) => `${name}.${purpose}-${i}@${dice.pick(['one', 'two'])}.example`)
    yield { request: `${purpose}-${i}`, to, text: 'All is well.' }
  }
}

const isAccepted = ({ reply }: { reply: number | null }) => reply === 250

test.concurrent('a warm-up never exceeds its cap and counts no released send, after 10 kills under load around the cap', async ({
  expect,
  onTestFinished,
}) => {
  // A warm-up of one day.
  await waitForDayOf(300_000)
  const dice = diceFor('warm-up')
  const slow = {
    data: () => ({ after: dice.between(100, 700), act: '354 go ahead' }),
    dot: () => ({ after: dice.between(100, 500), act: '250 2.0.0 queued' }),
  }
  const limits = { warmup: [DAILY], breaker: { min_emails: 1_000_000 } }
  const world = await startFaultWorld({ limits, mail: { 'one.example': slow, 'two.example': slow } })
  onTestFinished(world.stop)
  // The third one stands by for the first kill, which comes before the cap is used up.
  await Promise.all([world.start(), world.start(), world.start()])
  const load = runLoad(40, acceptedLetters('warm'), () => dice.pick([...world.nodes]))
  let released = 0
  for (let kills = 0; kills < 10; kills++) {
    const [oldest] = world.nodes
    await letRun(dice.between(0, 500))
    oldest!.kill()
    const [open] = await Promise.all([oldest!.cleanUp(), world.start()])
    released += open.filter(({ message }) => !open.some((row) => row.message === message && row.marked)).length
  }
  const counts = tally(await load.stop())
  await expect.poll(() => openRows(world.sql)).toEqual([])
  // Released sends can be sent again, up to the last email of the cap.
  const [node] = world.nodes as unknown as Iterable<Node>
  for (const letter of acceptedLetters('rest')) {
    const single = { ...letter, to: letter.to.slice(0, 1) }
    if ((await node!.client.send(single)).status === 429) break
  }
  expect(await world.verdict()).toEqual([])
  const [{ emails }] = (await world.sql`select emails from warm_ups`) as unknown as [{ emails: number }]
  const stored = world.logs.database.at(-1)!.recipients.length
  const accepted = world.logs.mail.dots.filter(isAccepted).flatMap(({ to }) => to).length
  console.log('warm-up', { ...counts, released, emails, stored, accepted })
  expect({ emails, stored }).toEqual({ emails: DAILY, stored: DAILY })
  expect(accepted).toBeLessThanOrEqual(DAILY)
  expect(accepted).toBeGreaterThan(DAILY / 2)
  expect(released).toBeGreaterThan(5)
  expect(counts[429]).toBeGreaterThan(20)
})
