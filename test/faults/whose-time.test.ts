import { expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { letRun, pauseFor } from '../harness/waits.ts'
import { tally } from './load.ts'
import { startFaultWorld, type World } from './world.ts'

// Time of ours is never theirs: test/mail/smtp/own-time.waiting.test.ts has the law, and this the database behind it.

let world: World

const RCPT_MS = 4_000

test.each([
  // Longer than the time before the dot, and so long that a server that waits for the claim lacks time.
  ['markers', 18, 'open_recipients', 'share'],
  ['claims', 12, 'open_messages', 'access exclusive'],
])(
  'no send to a server that takes 4 s for RCPT ends as bounced while the %s wait for a lock of %i s',
  async (_, seconds, table, mode) => {
    world = untilEnd(
      await startFaultWorld({ mail: { 'one.example': { rcpt: { after: RCPT_MS, act: '250 2.1.5 ok' } } } }),
    )
    const node = await world.start()
    const send = (n: number) => node.client.send({ request: `s-${n}`, to: [`a.${n}@one.example`], text: 'Hi.' })
    // One before the lock, so that the server is known, and others into it, at each of its phases.
    await send(0)
    const held = await world.sql.reserve()
    await held`begin`
    await held.unsafe(`lock table ${table} in ${mode} mode`)
    const sends: ReturnType<typeof send>[] = []
    for (let n = 1; n <= 8; n++) {
      sends.push(send(n))
      await pauseFor(RCPT_MS / 4)
    }
    await letRun(seconds * 1_000 - 2 * RCPT_MS)
    await held`rollback`
    held.release()
    const counts = tally(await Promise.all(sends))
    console.log(table, counts)
    expect(Object.keys(counts).filter((outcome) => !['delivered', '500'].includes(outcome))).toEqual([])
    expect((await send(9)).status).toBe(200)
    expect(await world.verdict()).toEqual([])
    const stored = world.logs.database.at(-1)!.recipients
    expect(stored.filter(({ status }) => status !== 'delivered')).toEqual([])
  },
)
