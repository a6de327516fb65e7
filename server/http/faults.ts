import type { ConnectError } from '@connectrpc/connect'
import { type FieldFault, fail, MAX_FAULTS } from '../errors.ts'

/** What is wrong with a request. */
export interface Faults {
  /** The first of them, as many as an error lists. */
  fields: FieldFault[]
  /** How many there are beside those. */
  unlisted: number
  /** By index, and apart from all others: what is wrong with single elements of the list whose elements stand alone. */
  items: Map<number, FieldFault[]>
}

export const noFaults = (): Faults => ({ fields: [], unlisted: 0, items: new Map() })

export function blame(faults: Faults, field: string, message: string): undefined {
  if (isFull(faults)) faults.unlisted++
  else faults.fields.push({ field, message })
  return undefined
}

/** Nothing more is listed: what is found needs no words. */
export const isFull = ({ fields }: Faults) => fields.length >= MAX_FAULTS

/** The error for a request with faults of its own: the first in a sentence, those listed as details, the others as a number. */
export function refusal({ fields, unlisted }: Pick<Faults, 'fields' | 'unlisted'>): ConnectError {
  const { field, message } = fields[0]!
  const sentence = `The field ${field} ${message}${message.endsWith('?') ? '' : '.'}`
  const more = unlisted === 0 ? '' : ` ${unlisted} more faults are not listed.`
  return fail('invalid_payload', `${sentence}${more}`, { fields })
}

/** Puts aside what is wrong within one element, if anything is: its paths begin there, and the element itself has none. */
export function putAside(faults: Faults, list: string, index: number, { fields }: Faults): boolean {
  if (fields.length === 0) return false
  const named = fields.map(({ field, message }) => ({ field: field || `${list}[${index}]`, message }))
  faults.items.set(index, named)
  return true
}
