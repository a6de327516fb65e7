// Reads the fields of a JSON file, and collects every fault in it with its place.

/** Takes a fault: its place in the file, and what is wrong there. */
export type ReportFault = (where: string, what: string) => void

export type JsonFields = Record<string, unknown>

/** The fields of an object; `{}` when it is absent or not an object. Without `known` every name is valid. */
export function fields(value: unknown, where: string, known: string[] | undefined, report: ReportFault): JsonFields {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report(where, 'must be an object')
    return {}
  }
  const unknown = known ? Object.keys(value).filter((name) => !known.includes(name)) : []
  for (const name of unknown) report(where, `has no field ${JSON.stringify(name)}; there are ${known?.join(', ')}`)
  return Object.fromEntries(Object.entries(value).filter(([name]) => !unknown.includes(name)))
}

export const isWhole = (value: unknown, least: number, most: number): value is number =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most
