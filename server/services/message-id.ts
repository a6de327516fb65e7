import type { ConnectError } from '@connectrpc/connect'
import type { DatabaseClock } from '../db/clock.ts'
import { parsePublicId } from '../db/ids.ts'
import { isExpired } from '../db/retention.ts'
import { fail } from '../errors.ts'

/**
 * Returns the UUID in the id of an email. Throws `event_expired` by the id's own time, for every caller, and
 * `not_found` for a text that is not an id.
 */
export function readMessageId(shown: string, clock: DatabaseClock): string {
  const id = parsePublicId('msg', shown)
  if (id === undefined) throw noSuchEmail(shown)
  if (isExpired(id, clock)) throw fail('event_expired', `${shown} is older than the 90 days that emails are kept.`)
  return id
}

export function noSuchEmail(shown: string): ConnectError {
  return fail('not_found', `There is no email ${JSON.stringify(shown.slice(0, 64))} in this account.`)
}
