import type { Act } from '../harness/proxy.ts'
import type { WireEvent } from './wire.ts'

// Every point of a send at which a process can die, recognized by a message on the wire.

export const CLAIM = 'insert into open_messages'
export const MARKER = 'set marked_at ='
export const RECORD = 'delete from open_messages m using input'
/** Claim and record in one statement, for a send that never reaches SMTP. */
export const SETTLE = 'json_to_recordset(m.recipients)'
export const RELEASE = 'where id = $1 and claim = $2 for update'

export interface Point {
  name: string
  is(event: WireEvent): boolean
  /** What happens to the message itself. It passes by default. */
  act?: Act
}

/** The message that starts a statement. */
export const startOf = (sql: string) => (event: WireEvent) => event.statements.starts.some((text) => text.includes(sql))
/** The message that reports the end of a statement. */
export const endOf = (sql: string) => (event: WireEvent) => event.statements.ends.some((text) => text.includes(sql))
/** A message whose text matches. */
export const messageOf = (place: WireEvent['place'] | 'mail', direction: WireEvent['direction'], pattern: RegExp) => {
  return (event: WireEvent) =>
    event.place.startsWith(place) && event.direction === direction && pattern.test(event.bytes.toString('latin1'))
}

export const POINTS: Point[] = [
  { name: 'at the claim, before it arrives', is: startOf(CLAIM), act: 'reset' },
  { name: 'at the claim, whose response is lost', is: startOf(CLAIM) },
  { name: 'after the claim', is: endOf(CLAIM) },
  { name: 'in the middle of DATA', is: messageOf('mail', 'up', /^Message-ID:/m), act: { bytes: 200, act: 'reset' } },
  { name: 'at the marker, before it arrives', is: startOf(MARKER), act: 'reset' },
  { name: 'after the marker, before the dot', is: endOf(MARKER) },
  { name: 'after the dot, before 250', is: messageOf('mail', 'up', /(^|\r\n)\.\r\n$/) },
  { name: 'after 250, before the record', is: messageOf('mail', 'down', /^250 2\.0\.0 queued/m) },
  { name: 'at the record, before it arrives', is: startOf(RECORD), act: 'reset' },
  { name: 'at the record, whose response is lost', is: startOf(RECORD) },
  { name: 'after the record', is: endOf(RECORD) },
  { name: 'before the HTTP response', is: messageOf('http', 'down', /^HTTP\/1\.1 200/), act: 'reset' },
  { name: 'after the HTTP response', is: messageOf('http', 'down', /^HTTP\/1\.1 200/) },
]
