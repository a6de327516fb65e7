import { readReturnPath } from '../domains/return-path.ts'
import type { Addressee } from './addressee.ts'
import type { Kept } from './feedback.ts'
import { type Report, readReport } from './report.ts'

export interface Mail extends Addressee {
  content: Buffer
}

/** What a mail was: a report and what became of it, or nothing that says anything. */
export interface Received {
  messageId?: string
  report: Report['kind'] | 'none'
  kept?: Kept
}

/** After each report a rest of so many times as long as it took, up to a second: whoever sends us reports does not slow down sends. */
const REST = 2
const MAX_REST_MS = 1_000

/**
 * Takes the mails that come in, one at a time. Its promise is rejected when the report could not be kept, or not yet: the sender has
 * to come again. `report` hears of each that was taken.
 */
export function createReceiver({
  returnPathKeys,
  keep,
  report,
}: {
  returnPathKeys: readonly Uint8Array[]
  keep(messageId: string, report: Report): Promise<Kept>
  report(received: Received): void
}): (mail: Mail) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()

  async function take({ content, messageId: addressed }: Mail): Promise<void> {
    const messageId = addressed ?? tokenIn(content, returnPathKeys)
    const found = messageId && (await readReport(content))
    // Whoever has a message has its token: from the address that all know, only a complaint is taken.
    const isTaken = found && (addressed !== undefined || found.kind === 'complaint')
    const kept = isTaken ? await keep(messageId!, found) : undefined
    if (kept === 'running') throw new Error('the outcome of the message is not stored yet')
    report({ messageId, report: isTaken ? found.kind : 'none', kept })
  }

  return async (mail) => {
    const before = last
    const turn = Promise.withResolvers<void>()
    last = turn.promise
    await before
    const startedAt = performance.now()
    try {
      await take(mail)
    } finally {
      setTimeout(turn.resolve, Math.min((performance.now() - startedAt) * REST, MAX_REST_MS))
    }
  }
}

const TOKEN = /\bb\.[0-9a-z]{26}\.[0-9a-v]{16}(?![\w.])/gi
const MAX_TOKENS = 20

/** A complaint quotes the message, whose return path proves that the service wrote it. */
function tokenIn(content: Buffer, keys: readonly Uint8Array[]): string | undefined {
  const tokens = [...new Set(content.toString('latin1').match(TOKEN))].slice(0, MAX_TOKENS)
  return tokens.map((token) => readReturnPath(keys, token)).find((messageId) => messageId !== undefined)
}
