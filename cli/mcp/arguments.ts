import { CliError } from '../command.ts'
import type { SchemaObject } from './contract.ts'

/** The types of values in a query or a path. The service checks everything else itself. */
const SCALARS = ['string', 'integer', 'number', 'boolean']

/** Refuses arguments that the tool does not have, that are missing, or that are no text, number or boolean. */
export function refuseArguments(
  { properties = {}, required = [] }: SchemaObject,
  input: Record<string, unknown>,
): void {
  const names = Object.keys(properties)
  const unknown = Object.keys(input).filter((name) => !Object.hasOwn(properties, name))
  const missing = required.filter((name) => input[name] === undefined)
  const details = [
    ...unknown.map((name) => ({ field: name.slice(0, 100), message: `unknown; this tool takes ${names.join(', ')}` })),
    ...missing.map((field) => ({ field, message: 'required' })),
    ...Object.entries(properties).flatMap(([field, property]) => typeFault(field, property, input[field])),
  ]
  if (details.length === 0) return
  const message = details.map(({ field, message }) => `${field}: ${message}`).join('; ')
  throw new CliError('usage', message, { error: 'invalid_arguments', details })
}

function typeFault(field: string, { type }: SchemaObject, value: unknown) {
  if (value === undefined || typeof type !== 'string' || !SCALARS.includes(type)) return []
  const given = typeof value === 'number' && Number.isInteger(value) ? ['integer', 'number'] : [typeof value]
  return given.includes(type) ? [] : [{ field, message: `must be a value of type ${type}` }]
}
