import { pauseFor } from '../../harness/waits.ts'
import type { Letter } from '../letters.ts'
import type { Node } from '../node.ts'

/** Starts `perSecond` sends a second, without waiting for earlier ones. Resolves when all have ended. */
export async function sendPaced(perSecond: number, letters: Iterable<Letter>, nodeOf: () => Node): Promise<void> {
  const beganMs = performance.now()
  const sends = []
  for (const letter of letters) {
    await pauseFor(Math.max(0, beganMs + (sends.length * 1_000) / perSecond - performance.now()))
    sends.push(nodeOf().client.send(letter))
  }
  await Promise.all(sends)
}
