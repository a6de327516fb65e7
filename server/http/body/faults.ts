import type { ConnectError } from '@connectrpc/connect'
import { type FieldFault, failFields, MAX_FAULTS } from '../../errors.ts'

/** What is wrong with a request. */
export interface RequestFaults {
  /** The first faults, as many as an error lists. */
  fields: FieldFault[]
  /** How many further faults there are. */
  unlisted: number
  /**
   * The faults of single elements of a list whose elements are independent, by index. The others do not contain them.
   */
  items: Map<number, FieldFault[]>
}

export const noFaults = (): RequestFaults => ({ fields: [], unlisted: 0, items: new Map() })

export function blame(faults: RequestFaults, field: string, message: string): undefined {
  if (isFull(faults)) faults.unlisted++
  else faults.fields.push({ field, message })
  return undefined
}

/** Whether further faults are only counted, so that they need no message. */
export const isFull = ({ fields }: RequestFaults) => fields.length >= MAX_FAULTS

/** The error for a request with faults. */
export function refusal({ fields, unlisted }: Pick<RequestFaults, 'fields' | 'unlisted'>): ConnectError {
  return failFields('invalid_payload', fields, unlisted)
}

/**
 * Stores the faults of one element, if there are any, and returns whether there were. Their paths begin within the
 * element, and the element itself has an empty path.
 */
export function putAside(faults: RequestFaults, list: string, index: number, { fields }: RequestFaults): boolean {
  if (fields.length === 0) return false
  const named = fields.map(({ field, message }) => ({ field: field || `${list}[${index}]`, message }))
  faults.items.set(index, named)
  return true
}
