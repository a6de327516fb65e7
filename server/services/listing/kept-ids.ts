import type { ConnectError } from '@connectrpc/connect'
import type { DatabaseClock } from '../../db/clock.ts'
import { type IdPrefix, parsePublicId } from '../../db/ids.ts'
import { isExpired } from '../../db/retention.ts'
import { fail } from '../../errors.ts'

// A request names a part of history by a public id, which carries its time of creation.

/** What an id names, and what its retention keeps: the words of an error message. */
interface Kept {
  prefix: IdPrefix
  name: string
  kept: string
}

export const KEPT_EMAIL: Kept = { prefix: 'msg', name: 'email', kept: 'emails' }
export const KEPT_EVENT: Kept = { prefix: 'evt', name: 'event', kept: 'events' }
/** A message whose events are asked for. */
export const KEPT_MESSAGE: Kept = { prefix: 'msg', name: 'message', kept: 'events' }

/**
 * Returns the UUID in a public id. Throws `event_expired` by the id's own time, for every caller, and `not_found` for a
 * text that is not an id.
 */
export function readKeptId(what: Kept, shown: string, clock: DatabaseClock): string {
  const id = parsePublicId(what.prefix, shown)
  if (id === undefined) throw unknownId(what, shown)
  if (isExpired(id, clock)) throw expiredId(what, shown)
  return id
}

export function unknownId({ name }: Kept, shown: string): ConnectError {
  return fail('not_found', `There is no ${name} ${JSON.stringify(shown.slice(0, 64))} in this account.`)
}

export function expiredId({ kept }: Kept, shown: string): ConnectError {
  return fail('event_expired', `${shown} is older than the 90 days that ${kept} are kept.`)
}
