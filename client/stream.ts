import type { Call, CallOptions } from './call.ts'
import { VerdictError } from './error.ts'
import type { Event, ListChangesQuery } from './gen/contract.ts'
import { type Pause, pauseBefore, pauseFor } from './retry.ts'

/** An event, and where to resume after it. */
export type StreamedEvent = Event & { position: string }

export interface StreamOptions extends Omit<CallOptions, 'timeoutMs'> {
  /** Called with each position, also when no event matched. Store it to resume there. */
  onPosition?: (position: string) => void
}

const WAIT_S = 20
/** Twice the wait, because the response comes a little after it. */
const TIMEOUT_MS = 2 * WAIT_S * 1_000
/** After this many failures in a row the pauses grow no more. */
const MOST_RETRIES = 5

/**
 * Yields events as they are committed, each once, oldest first. It reads on after every failure that may pass, and
 * throws what will not: a key without the right, or a position that cannot be resumed (`event_expired`).
 */
export async function* streamOf(
  call: Call,
  query: Omit<ListChangesQuery, 'wait_s'> = {},
  { onPosition, signal }: StreamOptions = {},
  pause: Pause = pauseFor,
): AsyncGenerator<StreamedEvent, void, undefined> {
  let { after } = query
  let failures = 0
  for (;;) {
    try {
      // The first call only learns where the stream starts: a later failure must not skip what comes meanwhile.
      const wait = after === undefined ? undefined : WAIT_S
      const changes = await call(
        'listChanges',
        { query: { limit: 100, ...query, after, wait_s: wait } },
        { signal, timeoutMs: TIMEOUT_MS, maxRetries: 0 },
      )
      failures = 0
      for (const { event, position } of changes.events) {
        after = position
        yield { ...event!, position }
        onPosition?.(position)
      }
      after = changes.position
      onPosition?.(after)
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof VerdictError)) throw error
      const pauseMs = pauseBefore(error, Math.min(failures++, MOST_RETRIES), true)
      if (pauseMs === undefined) throw error
      await pause(pauseMs, signal)
    }
  }
}
