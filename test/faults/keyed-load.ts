import { sendUntilOk } from './duplicates.ts'
import { letters } from './letters.ts'
import type { Node } from './node.ts'
import { diceFor } from './seed.ts'

/** Runs callers that send one letter after the other, each with its key until there is a response of 200. */
export function runKeyedLoad(callers: number, purpose: string, nodeOf: () => Node) {
  const remaining = letters(purpose, 20_000, diceFor(purpose))[Symbol.iterator]()
  let isRunning = true
  const call = async () => {
    while (isRunning) {
      const { value } = remaining.next()
      await sendUntilOk({ ...value!, key: `key ${value!.request}` }, nodeOf)
    }
  }
  const calls = Promise.all(Array.from({ length: callers }, call))
  return {
    /** Begins no more letters, and waits until each of the others has its response. */
    stop: async () => {
      isRunning = false
      await calls
    },
  }
}
