import type { Parameterised } from './parameters.ts'
import { parameterOf } from './parameters.ts'

// Invitations by mail: iCalendar (RFC 5545) in iMIP (RFC 6047).

/** Whether a file is an invitation, which clients look for among the alternatives of the body. */
export function isInvitation(type: Pick<Parameterised, 'value' | 'parameters'>): boolean {
  return type.value === 'text/calendar' && parameterOf(type, 'method') !== undefined
}

/** The METHOD properties of a calendar, in upper case. */
export function calendarMethods(content: Uint8Array): string[] {
  const text = Buffer.from(content.buffer, content.byteOffset, content.length).toString('latin1')
  const unfolded = text.replace(/\r?\n[\t ]/g, '')
  return [...unfolded.matchAll(/^METHOD(?:;[^:\r\n]{0,200})?:([^\r\n]*)/gim)].map(([, value]) =>
    value!.trim().toUpperCase(),
  )
}
