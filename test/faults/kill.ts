import type { Act } from '../harness/proxy.ts'
import type { Logs } from '../reliability/logs.ts'
import type { Letter } from './letters.ts'
import type { Node } from './node.ts'
import type { WireEvent } from './wire.ts'

/**
 * Sends the letters concurrently and kills the process at the first message of the point, or at the latest when all
 * sends have ended. Returns whether the kill came at the point.
 */
export async function killAt(
  node: Node,
  letters: Letter[],
  { is, act }: { is(event: WireEvent): boolean; act?: Act },
): Promise<boolean> {
  let isDead = false
  node.wire.onEvent = (event) => {
    if (isDead || !is(event)) return undefined
    isDead = true
    node.kill()
    return act
  }
  await Promise.all(letters.map((letter) => node.client.send(letter)))
  const isAtPoint = isDead
  if (!isAtPoint) node.kill()
  await node.cleanUp()
  return isAtPoint
}

/** How many messages killed processes have left open, with a marker or without one, whichever are fewer. */
export function leastOpen({ processes }: Logs): number {
  const rows = processes.flatMap((process) => (process.event === 'crashed' ? process.open : []))
  const messages = [...Map.groupBy(rows, ({ message }) => message).values()]
  const marked = messages.filter((rows) => rows.some((row) => row.marked)).length
  const unmarked = messages.length - marked
  console.log(`left open with a marker: ${marked}, without: ${unmarked}`)
  return Math.min(marked, unmarked)
}
