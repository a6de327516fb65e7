import { setTimeout as sleep } from 'node:timers/promises'
import type { Letter } from '../letters.ts'
import type { Node } from '../node.ts'

/** Sends one letter after the other, so many in a second, whatever becomes of them; resolves when all have ended. */
export async function sendPaced(perSecond: number, letters: Letter[], nodeOf: () => Node): Promise<void> {
  const beganMs = performance.now()
  const sent = []
  for (const [i, letter] of letters.entries()) {
    await sleep(Math.max(0, beganMs + (i * 1_000) / perSecond - performance.now()))
    sent.push(nodeOf().client.send(letter))
  }
  await Promise.all(sent)
}
