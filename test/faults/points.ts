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

export const asked = (sql: string) => (event: WireEvent) => event.statements.asked.some((text) => text.includes(sql))
export const answered = (sql: string) => (event: WireEvent) =>
  event.statements.answered.some((text) => text.includes(sql))
export const said = (place: WireEvent['place'] | 'mail', direction: WireEvent['direction'], words: RegExp) => {
  return (event: WireEvent) =>
    event.place.startsWith(place) && event.direction === direction && words.test(event.bytes.toString('latin1'))
}

export const POINTS: Point[] = [
  { name: 'at the claim, before it is there', is: asked(CLAIM), act: 'reset' },
  { name: 'at the claim, and nobody hears', is: asked(CLAIM) },
  { name: 'after the claim', is: answered(CLAIM) },
  { name: 'mid DATA', is: said('mail', 'up', /^Message-ID:/m), act: { bytes: 200, act: 'reset' } },
  { name: 'at the marker, before it is there', is: asked(MARKER), act: 'reset' },
  { name: 'before the dot: the marker is there', is: answered(MARKER) },
  { name: 'after the dot, before 250', is: said('mail', 'up', /(^|\r\n)\.\r\n$/) },
  { name: 'after 250, before the record', is: said('mail', 'down', /^250 2\.0\.0 queued/m) },
  { name: 'at the record, before it is there', is: asked(RECORD), act: 'reset' },
  { name: 'at the record, and nobody hears', is: asked(RECORD) },
  { name: 'after the record', is: answered(RECORD) },
  { name: 'before the HTTP answer', is: said('http', 'down', /^HTTP\/1\.1 200/), act: 'reset' },
  { name: 'after the HTTP answer', is: said('http', 'down', /^HTTP\/1\.1 200/) },
]
