import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { cleanText } from '../../net/clean-text.ts'
import { CliError } from '../command.ts'

/** Live sends and replays. */
export const MOST_AN_HOUR = 20
const HOUR_MS = 3_600_000
/** How long a person has to answer. */
const ANSWER_MS = 300_000

/** Returns when the action may be done. Throws a CliError when it may not. */
export type Approve = (question: string, signal: AbortSignal) => Promise<void>

/**
 * The caller is a model that reads text of strangers. So it does at most `MOST_AN_HOUR` live actions, and the client
 * asks its person before each, where it can.
 */
export function createApproval(
  server: Pick<Server, 'getClientCapabilities' | 'elicitInput'>,
  now = () => Date.now(),
): Approve {
  /** When the actions of the last hour were approved, or began to wait for their approval. */
  const taken = new Set<{ at: number }>()

  function take() {
    for (const place of taken) if (place.at <= now() - HOUR_MS) taken.delete(place)
    const [first] = taken
    if (!first || taken.size < MOST_AN_HOUR) {
      const place = { at: now() }
      taken.add(place)
      return place
    }
    const seconds = Math.ceil((first.at + HOUR_MS - now()) / 1_000)
    throw new CliError('failed', `at most ${MOST_AN_HOUR} live sends and replays an hour: try again in ${seconds} s`, {
      error: 'too_many_live_actions',
      retry_after: seconds,
    })
  }

  return async (question, signal) => {
    const place = take()
    try {
      if (server.getClientCapabilities()?.elicitation) await ask(server, question, signal)
      signal.throwIfAborted()
    } catch (error) {
      taken.delete(place)
      if (error instanceof CliError) throw error
      throw new CliError('failed', `nothing was done: no answer to the question (${(error as Error).message})`)
    }
  }
}

async function ask(server: Pick<Server, 'elicitInput'>, question: string, signal: AbortSignal): Promise<void> {
  const { action } = await server.elicitInput(
    { message: cleanText(question, { keep: '\n' }), requestedSchema: { type: 'object', properties: {} } },
    { signal, timeout: ANSWER_MS },
  )
  if (action !== 'accept') throw new CliError('failed', 'the person declined: nothing was done', { error: 'declined' })
}
