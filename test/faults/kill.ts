import type { Act } from '../harness/proxy.ts'
import type { Letter } from './letters.ts'
import type { Node } from './node.ts'
import type { WireEvent } from './wire.ts'

/** Sends the letters side by side and kills the process at the first message for which it is time. False when it never was. */
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
  if (isDead) await node.bury()
  return isDead
}
