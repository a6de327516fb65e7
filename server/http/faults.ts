import type { FieldFault } from '../errors.ts'

const MAX_FAULTS = 20

/** What is wrong with a request. */
export interface Faults {
  fields: FieldFault[]
  /** By index, and apart from all others: what is wrong with single elements of the list whose elements stand alone. */
  items: Map<number, FieldFault[]>
}

export const noFaults = (): Faults => ({ fields: [], items: new Map() })

export function blame({ fields }: Faults, field: string, message: string): undefined {
  if (fields.length < MAX_FAULTS) fields.push({ field, message })
  return undefined
}

/** Puts aside what is wrong within one element, if anything is: its paths begin there, and the element itself has none. */
export function putAside(faults: Faults, list: string, index: number, { fields }: Faults): boolean {
  if (fields.length === 0) return false
  const named = fields.map(({ field, message }) => ({ field: field || `${list}[${index}]`, message }))
  faults.items.set(index, named)
  return true
}
