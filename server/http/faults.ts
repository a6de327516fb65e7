import type { ConnectError } from '@connectrpc/connect'
import { type FieldFault, fail, MAX_FAULTS } from '../errors.ts'

/** What is wrong with a request. */
export interface Faults {
  /** The first faults, as many as an error lists. */
  fields: FieldFault[]
  /** How many further faults there are. */
  unlisted: number
  /**
   * The faults of single elements of a list whose elements are independent, by index. The others do not contain them.
   */
  items: Map<number, FieldFault[]>
}

export const noFaults = (): Faults => ({ fields: [], unlisted: 0, items: new Map() })

export function blame(faults: Faults, field: string, message: string): undefined {
  if (isFull(faults)) faults.unlisted++
  else faults.fields.push({ field, message })
  return undefined
}

/** Whether further faults are only counted, so that they need no message. */
export const isFull = ({ fields }: Faults) => fields.length >= MAX_FAULTS

/** The error for a request with faults: the first in a sentence, all listed ones as details, the others as a number. */
export function refusal({ fields, unlisted }: Pick<Faults, 'fields' | 'unlisted'>): ConnectError {
  const { field, message } = fields[0]!
  const sentence = `The field ${field} ${message}${message.endsWith('?') ? '' : '.'}`
  const more = unlisted === 0 ? '' : ` ${unlisted} more faults are not listed.`
  return fail('invalid_payload', `${sentence}${more}`, { fields })
}

/**
 * Stores the faults of one element, if there are any, and returns whether there were. Their paths begin within the
 * element, and the element itself has an empty path.
 */
export function putAside(faults: Faults, list: string, index: number, { fields }: Faults): boolean {
  if (fields.length === 0) return false
  const named = fields.map(({ field, message }) => ({ field: field || `${list}[${index}]`, message }))
  faults.items.set(index, named)
  return true
}
