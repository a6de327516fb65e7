import type { Act } from '../harness/proxy.ts'
import type { WireEvent } from './wire.ts'

// Every point of a send at which a process can die, as it shows on the wire.

export const CLAIM = 'insert into open_messages'
export const MARKER = 'set marked_at ='
export const RECORD = 'delete from open_messages m using input'
/** Claim and record in one, for a send that never reaches SMTP. */
export const SETTLE = 'json_to_recordset(m.recipients)'
export const RELEASE = 'where id = $1 and claim = $2 for update'

export interface Point {
  name: string
  is(event: WireEvent): boolean
  /** What becomes of the message itself; it passes when this is left out. */
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
  { name: 'at the claim, before it is there', is: startOf(CLAIM), act: 'reset' },
  { name: 'at the claim, and nobody hears', is: startOf(CLAIM) },
  { name: 'after the claim', is: endOf(CLAIM) },
  { name: 'mid DATA', is: messageOf('mail', 'up', /^Message-ID:/m), act: { bytes: 200, act: 'reset' } },
  { name: 'at the marker, before it is there', is: startOf(MARKER), act: 'reset' },
  { name: 'before the dot: the marker is there', is: endOf(MARKER) },
  { name: 'after the dot, before 250', is: messageOf('mail', 'up', /(^|\r\n)\.\r\n$/) },
  { name: 'after 250, before the record', is: messageOf('mail', 'down', /^250 2\.0\.0 queued/m) },
  { name: 'at the record, before it is there', is: startOf(RECORD), act: 'reset' },
  { name: 'at the record, and nobody hears', is: startOf(RECORD) },
  { name: 'after the record', is: endOf(RECORD) },
  { name: 'before the HTTP answer', is: messageOf('http', 'down', /^HTTP\/1\.1 200/), act: 'reset' },
  { name: 'after the HTTP answer', is: messageOf('http', 'down', /^HTTP\/1\.1 200/) },
]
