/** JSON Schema 2020-12, as OpenAPI 3.1 has it. */
export type Schema = Record<string, unknown>

/** The words of a string: those that a request takes, or those that a response has today. */
export const enumWords = (schema: Schema) => (schema.enum ?? schema['x-extensible-enum']) as string[] | undefined

/** The fields that a message always has. In a response null is a value, which the document calls an absent one. */
export function alwaysIn({ properties = {}, required = [], additionalProperties }: Schema): string[] {
  const isNullable = ({ oneOf = [] }: Schema) => (oneOf as Schema[]).some(({ type }) => type === 'null')
  const nullable = Object.entries(properties as Record<string, Schema>).filter(([, schema]) => isNullable(schema))
  return [...(required as string[]), ...(additionalProperties === true ? nullable.map(([name]) => name) : [])]
}
