import { expect } from 'vitest'
import type { Script } from '../harness/smtp-script.ts'
import { letRun } from '../harness/waits.ts'
import { letters } from './letters.ts'
import { runLoad, tally } from './load.ts'
import type { Dice } from './seed.ts'
import type { World } from './world.ts'

/** Mail servers that are slow at the final dot, so that at SIGTERM many sends wait for its reply. */
export function slowMail(dice: Dice): Record<string, Script> {
  const dot: Script['dot'] = () => ({ after: dice.between(20, 300), act: '250 2.0.0 queued' })
  return { 'one.example': { dot }, 'two.example': { dot } }
}

/**
 * Sends SIGTERM to one process after the other, each at a random moment of a load of 20 callers. Counts how the sends
 * in flight ended.
 */
export async function terminateUnderLoad(world: World, times: number, dice: Dice) {
  let next = world.start()
  for (let i = 1; i <= times; i++) {
    const node = await next
    next = world.start()
    const load = runLoad(20, letters(`drain-${i}`, 5_000, dice), () => node)
    await letRun(dice.between(300, 900))
    // On a busy machine the process may not have accepted the first requests by then.
    await expect.poll(() => load.entries.length).toBeGreaterThan(20)
    await node.terminate()
    await load.stop()
  }
  await next
  const inFlight = world.logs.processes.flatMap((process) => (process.event === 'terminated' ? process.inFlight : []))
  return tally(world.logs.requests.filter(({ request }) => inFlight.includes(request)))
}
