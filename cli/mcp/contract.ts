import { readFileSync } from 'node:fs'
import { BUILT_OPENAPI } from '../../server/http/site/built-files.ts'
import { Failure } from '../command.ts'

// The input of every tool is the input of a call of the contract, read from the document that the service serves.

const { paths, components } = readDocument()

function readDocument(): Document {
  try {
    return JSON.parse(readFileSync(BUILT_OPENAPI, 'utf8'))
  } catch {
    throw new Failure('failed', `${BUILT_OPENAPI} is not built: run \`npm run build\``)
  }
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: unknown
}

/** A JSON Schema. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  oneOf?: Schema[]
  additionalProperties?: Schema | boolean
  enum?: unknown[]
  /** The words that a response has today. */
  'x-extensible-enum'?: string[]
  format?: string
}

interface Parameter {
  $ref?: string
  name: string
  in: string
  description: string
  required?: boolean
  schema: Schema
}

interface Operation {
  operationId: string
  description?: string
  summary: string
  parameters: Parameter[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: Record<string, { content: { 'application/json': { schema: Schema } } }>
}

const OPERATIONS = new Map(
  Object.values(paths)
    .flatMap((verbs) => Object.values(verbs))
    .map((operation) => [operation.operationId, operation]),
)

/** The properties of a body, a path, a query or the headers of a call, by their names. */
export function propertiesOf(operationId: string, place: 'body' | 'path' | 'query' | 'header'): Record<string, Schema> {
  if (place === 'body') return bodyOf(operationId).properties!
  const { parameters = [] } = operationOf(operationId)
  const here = parameters.map(followed<Parameter>).filter((parameter) => parameter.in === place)
  return Object.fromEntries(
    here.map(({ name, description, schema }) => [name, { description, ...inlined(schema) } as Schema]),
  )
}

/** The names of a body's required properties. */
export const requiredOf = (operationId: string): string[] => bodyOf(operationId).required ?? []

const bodyOf = (operationId: string): Schema =>
  inlined(operationOf(operationId).requestBody!.content['application/json'].schema)

/** The schema of a call's response. */
export const responseOf = (operationId: string): Schema =>
  inlined(operationOf(operationId).responses[200]!.content['application/json'].schema)

function operationOf(operationId: string): Operation {
  const operation = OPERATIONS.get(operationId)
  if (!operation) throw new Error(`the contract has no call ${operationId}`)
  return operation
}

/** The schema with every reference replaced by what it refers to: not every agent follows references. */
function inlined(schema: Schema): Schema {
  const { $ref, ...rest } = schema
  if ($ref !== undefined) return inlined({ ...followed<Schema>({ $ref }), ...rest })
  const { properties, items, oneOf, additionalProperties } = rest
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, inlined(one)])),
    }),
    ...(items && { items: inlined(items) }),
    ...(oneOf && { oneOf: oneOf.map(inlined) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: inlined(additionalProperties) }),
  }
}

/** What a reference such as `#/components/schemas/SendRequest` refers to. */
function followed<Node extends { $ref?: string }>(node: Node): Node {
  if (node.$ref === undefined) return node
  const path = node.$ref.split('/').slice(1)
  return path.reduce((at: unknown, name) => (at as Record<string, unknown>)[name], { components }) as Node
}
