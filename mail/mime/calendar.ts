import type { Parameterised } from './parameters.ts'
import { parameterOf } from './parameters.ts'

// Invitations by mail: iCalendar (RFC 5545) in iMIP (RFC 6047).

/** Whether a file is an invitation, which clients look for among the alternatives of the body. */
export function isInvitation(type: Pick<Parameterised, 'value' | 'parameters'>): boolean {
  return type.value === 'text/calendar' && parameterOf(type, 'method') !== undefined
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const NAME = Buffer.from('method')
const TO_LOWER_CASE = 0x20
const PROPERTY = /^METHOD(?:;[^:]{0,200})?:(.*)$/is
/** A longer line is no METHOD: its value is a word. */
const MAX_LINE = 1_024

/**
 * The METHOD properties of a calendar, in upper case. Octets are read once, and only lines that begin with the name
 * become text.
 */
export function* calendarMethods(content: Uint8Array): Generator<string> {
  const line = Buffer.alloc(MAX_LINE)
  for (let at = 0; at < content.length; ) {
    let length = 0
    let isOther = false
    // A line with its folds.
    for (; at < content.length; at++) {
      const octet = content[at]!
      const end = octet === LF ? at + 1 : octet === CR && content[at + 1] === LF ? at + 2 : 0
      if (end > 0) {
        at = end
        if (content[at] !== SPACE && content[at] !== TAB) break
      } else if (!isOther) {
        if (length < NAME.length) isOther = (octet | TO_LOWER_CASE) !== NAME[length]
        if (length < MAX_LINE) line[length] = octet
        length++
      }
    }
    if (isOther || length < NAME.length || length > MAX_LINE) continue
    const [, value] = PROPERTY.exec(line.toString('latin1', 0, length)) ?? []
    if (value !== undefined) yield value.trim().toUpperCase()
  }
}

/** The first METHOD of a calendar that differs from that of its media type. */
export function otherMethod(content: Uint8Array, method: string): string | undefined {
  const given = method.toUpperCase()
  for (const one of calendarMethods(content)) if (one !== given) return one
  return undefined
}
