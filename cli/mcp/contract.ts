import { readFileSync } from 'node:fs'
import { BUILT_OPENAPI } from '../../server/http/site/built-files.ts'
import { CliError } from '../command.ts'

// The input of every tool is the input of a call of the contract, read from the document that the service serves.

const { paths, components } = readDocument()

function readDocument(): OpenApiDocument {
  try {
    return JSON.parse(readFileSync(BUILT_OPENAPI, 'utf8'))
  } catch {
    throw new CliError('failed', `${BUILT_OPENAPI} is not built: run \`npm run build\``)
  }
}

interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>
  components: unknown
}

/** A JSON Schema. */
export interface SchemaObject {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, SchemaObject>
  required?: string[]
  items?: SchemaObject
  oneOf?: SchemaObject[]
  additionalProperties?: SchemaObject | boolean
  enum?: unknown[]
  /** The words that a response has today. */
  'x-extensible-enum'?: string[]
  format?: string
}

interface ParameterObject {
  $ref?: string
  name: string
  in: string
  description: string
  required?: boolean
  schema: SchemaObject
}

interface Operation {
  operationId: string
  description?: string
  summary: string
  parameters: ParameterObject[]
  requestBody?: { content: { 'application/json': { schema: SchemaObject } } }
  responses: { 200: { content: { 'application/json': { schema: SchemaObject } } } }
}

const OPERATIONS = new Map(
  Object.values(paths)
    .flatMap((verbs) => Object.values(verbs))
    .map((operation) => [operation.operationId, operation]),
)

/** The properties of a body, a path, a query or the headers of a call, by their names. */
export function propertiesOf(
  operationId: string,
  place: 'body' | 'path' | 'query' | 'header',
): Record<string, SchemaObject> {
  if (place === 'body') return bodyOf(operationId).properties ?? {}
  const { parameters = [] } = operationOf(operationId)
  const here = parameters.map(followed<ParameterObject>).filter((parameter) => parameter.in === place)
  return Object.fromEntries(
    here.map(({ name, description, schema }) => [name, { description, ...inlined(schema) } as SchemaObject]),
  )
}

/** One of these properties. */
export function propertyOf(
  ...[operationId, place, name]: [...Parameters<typeof propertiesOf>, name: string]
): SchemaObject {
  const property = propertiesOf(operationId, place)[name]
  if (!property) throw new Error(`${operationId} has no ${name}`)
  return property
}

/** The names of a body's required properties. */
export const requiredOf = (operationId: string): string[] => bodyOf(operationId).required ?? []

const bodyOf = (operationId: string): SchemaObject =>
  inlined(operationOf(operationId).requestBody!.content['application/json'].schema)

/** The schema of a call's response. */
export const responseOf = (operationId: string): SchemaObject =>
  inlined(operationOf(operationId).responses[200].content['application/json'].schema)

function operationOf(operationId: string): Operation {
  const operation = OPERATIONS.get(operationId)
  if (!operation) throw new Error(`the contract has no call ${operationId}`)
  return operation
}

/** The schema with every reference replaced by what it refers to: not every agent follows references. */
function inlined(schema: SchemaObject): SchemaObject {
  const { $ref, ...rest } = schema
  if ($ref !== undefined) return inlined({ ...followed<SchemaObject>({ $ref }), ...rest })
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
