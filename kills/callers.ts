import type { Node } from '../test/faults/node.ts'
import { type Dice, diceFor } from '../test/faults/seed.ts'
import { pauseFor } from '../test/harness/waits.ts'
import type { ClientEntry } from '../test/reliability/logs.ts'

// Callers that send without a pause of their own longer than a second, until they are stopped. A send with a key is
// repeated until it has a response of 200, as a real caller does. One without a key is sent once.

const CALLERS = 40
const PAUSE_MS = 2_000
/** A caller waits before it tries again. */
const RETRY_MS = 500

/** The recipients' domains. The second one is slow. Each of the last two has the server of one of the first two. */
export const DOMAINS = ['one.example', 'two.example', 'also.one.example', 'also.two.example']

interface Letter {
  request: string
  to: string[]
  text: string
  key?: string
}

export function startCallers(anyNode: () => Node) {
  let isRunning = true
  let requests = 0
  /** The letters with a key that have no response yet. */
  const pending = new Set<string>()

  async function call(caller: number): Promise<void> {
    const dice = diceFor(`caller ${caller}`)
    while (isRunning) {
      const [first, ...more] = lettersOf(dice, () => `k-${++requests}`)
      await (more.length > 0 ? sendBatch([first!, ...more]) : send(first!))
      await pauseFor(dice.between(0, PAUSE_MS))
    }
  }

  async function send(letter: Letter): Promise<void> {
    if (letter.key === undefined) return void (await anyNode().client.send(letter))
    await untilAnswered(letter.key, async () => [await anyNode().client.send(letter)])
  }

  const sendBatch = (letters: Letter[]) =>
    untilAnswered(letters[0]!.key!, () => anyNode().client.sendBatch(letters, letters[0]!.key!))

  async function untilAnswered(key: string, tryOnce: () => Promise<ClientEntry[]>): Promise<void> {
    pending.add(key)
    while (!(await tryOnce()).every(({ status }) => status === 200)) await pauseFor(RETRY_MS)
    pending.delete(key)
  }

  const ended = Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)))
  return {
    pending,
    /** Begins no more letters, and resolves when each has its response. */
    stop(): Promise<unknown> {
      isRunning = false
      return ended
    },
  }
}

/** One letter to one or several recipients, or a few of a batch. No address gets two letters. */
function lettersOf(dice: Dice, nextRequest: () => string): Letter[] {
  const isBatch = dice.chance(0.1)
  const count = isBatch ? dice.between(2, 4) : 1
  return Array.from({ length: count }, () => {
    const request = nextRequest()
    const domains = dice.chance(0.5) ? [dice.pick(DOMAINS)] : DOMAINS.filter(() => dice.chance(0.6))
    const at = domains.length > 0 ? domains : ['one.example']
    const to = at.flatMap((domain) =>
      Array.from({ length: dice.chance(0.2) ? 2 : 1 }, (_, i) => `r${i}.${request}@${domain}`),
    )
    const key = isBatch || dice.chance(0.7) ? { key: `key ${request}` } : {}
    return { request, to, text: 'All is well.\n'.repeat(dice.chance(0.1) ? 8_000 : 10), ...key }
  })
}
