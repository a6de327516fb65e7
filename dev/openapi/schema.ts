/** JSON Schema 2020-12, as OpenAPI 3.1 has it. */
export type Schema = Record<string, unknown>
