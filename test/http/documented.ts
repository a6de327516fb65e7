import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

// Compares responses with the OpenAPI document.

// biome-ignore lint/suspicious/noExplicitAny: a document of JSON
export const document: any = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))

const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
ajv.addSchema(document, 'openapi')
const validators = new Map<string, ReturnType<typeof ajv.compile>>()

/** The differences between a value and a schema of the OpenAPI document; empty when the value matches. */
export function faultsAgainst(pointer: string, value: unknown): unknown[] {
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` })
  validators.set(pointer, validate)
  return validate(value) ? [] : validate.errors!
}

/** Throws unless an error has the body of every error, and a documented status. */
export function expectErrorBody(status: number, json: unknown, requestId: string | null | undefined): void {
  const faults = faultsAgainst('/components/schemas/Error', json)
  const known = Object.keys(json as object).filter(
    (name) => !['error', 'message', 'retry_after', 'request_id', 'details'].includes(name),
  )
  if (faults.length > 0 || known.length > 0) throw new Error(`not an error body: ${JSON.stringify({ json, faults })}`)
  if ((json as { request_id: string }).request_id !== requestId) throw new Error('request_id differs from X-Request-Id')
  if (![400, 401, 403, 404, 405, 409, 410, 413, 415, 429, 500].includes(status))
    throw new Error(`undocumented status ${status}`)
}
