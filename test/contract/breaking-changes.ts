// What callers of a released OpenAPI document miss in the current one. A generated client of that release must compile
// against the current document, send what it sent, and find what it read.

/** A JSON Schema, as far as our documents use it. */
interface Schema {
  $ref?: string
  type?: string | string[]
  oneOf?: Schema[]
  format?: string
  contentEncoding?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  propertyNames?: Schema
  items?: Schema
  enum?: unknown[]
  const?: unknown
  pattern?: string
  [bound: string]: unknown
}

interface Parameter {
  name: string
  in: string
  required?: boolean
  schema: Schema
}

interface Body {
  required?: boolean
  headers?: Record<string, object>
  content?: Record<string, { schema: Schema }>
}

interface Operation {
  operationId: string
  tags: string[]
  security?: object[]
  parameters?: (Parameter | { $ref: string })[]
  requestBody?: Body
  responses: Record<string, Body>
}

type Operations = Record<string, Record<string, Operation>>

export interface Document {
  info: { version: string }
  security: object[]
  paths: Operations
  webhooks: Operations
  components: { schemas: Record<string, Schema>; [kind: string]: Record<string, object> }
}

/** What the caller does with a value. One that is written may take more later, and one that is read may hold more. */
type Use = 'written' | 'read'

const UPPER_BOUNDS = ['maximum', 'maxLength', 'maxItems', 'maxProperties']
const LOWER_BOUNDS = ['minimum', 'minLength', 'minItems', 'minProperties']

/** One sentence for each change that breaks a caller of the released document, without repetitions. */
export function breakingChanges(released: Document, current: Document): string[] {
  const found = new Set<string>()
  const compared = new Set<string>()

  for (const name of Object.keys(released.components.schemas)) {
    if (!current.components.schemas[name]) found.add(`the schema ${name} is gone`)
  }
  compareOperations(released.paths, current.paths, 'written')
  compareOperations(released.webhooks, current.webhooks, 'read')
  return [...found]

  /** `use` is what the caller does with the request. */
  function compareOperations(before: Operations, now: Operations, use: Use): void {
    for (const [path, verbs] of Object.entries(before)) {
      for (const [verb, operation] of Object.entries(verbs)) {
        const at = `${verb.toUpperCase()} ${path}`
        const same = now[path]?.[verb]
        if (same) compareOperation(operation, same, at, use)
        else found.add(`${at} is gone`)
      }
    }
  }

  function compareOperation(before: Operation, now: Operation, at: string, use: Use): void {
    if (before.operationId !== now.operationId) found.add(`${at} has another operationId than ${before.operationId}`)
    if (before.tags[0] !== now.tags[0]) found.add(`${at} has another tag than ${before.tags[0]}`)
    if ((before.security ?? released.security).length === 0 && (now.security ?? current.security).length > 0)
      found.add(`${at} needs a key`)
    compareParameters(parametersOf(before, released), parametersOf(now, current), at, use)
    if (use === 'written' && now.requestBody?.required && !before.requestBody?.required) found.add(`${at} needs a body`)
    if (before.requestBody) compareBody(before.requestBody, now.requestBody, `${at} body`, use)
    for (const [status, response] of Object.entries(before.responses)) {
      const same = now.responses[status]
      // An error may become another one: callers handle those that they do not know.
      if (same) compareBody(response, same, `${at} ${status}`, 'read')
      else if (status.startsWith('2')) found.add(`${at} ${status} is gone`)
    }
  }

  function compareParameters(before: Parameter[], now: Parameter[], at: string, use: Use): void {
    const keyOf = (parameter: Parameter) => `${parameter.in} ${parameter.name}`
    for (const parameter of before) {
      const same = now.find((other) => keyOf(other) === keyOf(parameter))
      if (same) compare(parameter.schema, same.schema, `${at} ${keyOf(parameter)}`, use)
      if (!same || (use === 'read' && parameter.required && !same.required))
        found.add(`${at} ${keyOf(parameter)} is gone`)
    }
    if (use === 'read') return
    const needed = before.filter(({ required }) => required).map(keyOf)
    for (const parameter of now.filter(({ required }) => required)) {
      if (!needed.includes(keyOf(parameter))) found.add(`${at} needs ${keyOf(parameter)}`)
    }
  }

  function compareBody(before: Body, now: Body | undefined, at: string, use: Use): void {
    for (const name of Object.keys(before.headers ?? {})) {
      if (!now?.headers?.[name]) found.add(`${at} header ${name} is gone`)
    }
    for (const [type, { schema }] of Object.entries(before.content ?? {})) {
      const same = now?.content?.[type]
      if (same) compare(schema, same.schema, at, use)
      else found.add(`${at} as ${type} is gone`)
    }
  }

  function compare(before: Schema, now: Schema, at: string, use: Use): void {
    const [earlier, later] = [byType(before, released), byType(now, current)]
    const place = nameOf(before) ?? at
    for (const [type, shape] of earlier) {
      const same = later.get(type)
      if (same) compareShapes(shape, same, at, use)
      else if (use === 'written') found.add(`${place} takes no ${type}`)
    }
    // Without a type, a value may be anything.
    if (use === 'written' && earlier.size === 0 && later.size > 0) found.add(`${place} takes only ${[...later.keys()]}`)
    if (use === 'written' || earlier.size === 0) return
    if (later.size === 0) found.add(`${place} may be anything`)
    for (const type of later.keys()) if (!earlier.has(type)) found.add(`${place} may be ${type}`)
  }

  function compareShapes(before: Shape, now: Shape, at: string, use: Use): void {
    if (before.name === undefined) {
      compareOfType(before.schema, now.schema, at, use)
      return
    }
    if (before.name !== now.name && current.components.schemas[before.name])
      found.add(`${at} is no longer ${before.name}`)
    const pair = `${use} ${before.name} ${now.name ?? at}`
    if (compared.has(pair)) return
    compared.add(pair)
    compareOfType(before.schema, now.schema, before.name, use)
  }

  function compareOfType(before: Schema, now: Schema, at: string, use: Use): void {
    for (const keyword of ['format', 'contentEncoding'] as const) {
      if (before[keyword] !== now[keyword]) found.add(`${at} has another ${keyword} than ${before[keyword] ?? 'none'}`)
    }
    for (const [name, schema] of Object.entries(before.properties ?? {})) {
      const same = now.properties?.[name]
      if (same) compare(schema, same, `${at}.${name}`, use)
      else found.add(`${at}.${name} is gone`)
    }
    if (before.additionalProperties !== false) compare(othersOf(before), othersOf(now), `${at}.*`, use)
    compare(before.items ?? {}, now.items ?? {}, `${at}[]`, use)
    if (use === 'read') {
      for (const name of before.required ?? []) {
        if (!now.required?.includes(name) && !isNullable(before.properties?.[name]))
          found.add(`${at}.${name} may be absent`)
      }
    } else compareDemands(before, now, at)
  }

  /** What a value that the caller writes must fulfil. */
  function compareDemands(before: Schema, now: Schema, at: string): void {
    for (const name of now.required ?? []) {
      if (!before.required?.includes(name)) found.add(`${at} needs ${name}`)
    }
    if (before.additionalProperties !== false && now.additionalProperties === false)
      found.add(`${at} takes no other members`)
    const [taken, accepted] = [constants(before), constants(now)]
    if (accepted && !taken) found.add(`${at} takes only ${accepted.join(', ')}`)
    for (const value of taken ?? []) if (accepted && !accepted.includes(value)) found.add(`${at} takes no ${value}`)
    if (now.pattern !== undefined && now.pattern !== before.pattern) found.add(`${at} must match ${now.pattern}`)
    for (const bound of UPPER_BOUNDS) compareBound(bound, Infinity, (limit, previous) => limit < previous)
    for (const bound of LOWER_BOUNDS) compareBound(bound, -Infinity, (limit, previous) => limit > previous)
    if (now.propertyNames) compareDemands(before.propertyNames ?? {}, now.propertyNames, `${at} names`)

    function compareBound(bound: string, none: number, isTighter: (limit: number, previous: number) => boolean): void {
      const limitOf = (schema: Schema) => (schema[bound] as number | undefined) ?? none
      if (isTighter(limitOf(now), limitOf(before))) found.add(`${at} has the ${bound} ${limitOf(now)}`)
    }
  }
}

/** A caller that reads null also reads an absent field. */
const isNullable = ({ oneOf = [] }: Schema = {}) => oneOf.some(({ type }) => type === 'null')

const nameOf = ({ $ref }: Schema): string | undefined => $ref?.split('/').at(-1)

/** The schema of members that an object does not name. */
const othersOf = ({ additionalProperties }: Schema): Schema =>
  typeof additionalProperties === 'object' ? additionalProperties : {}

const constants = (schema: Schema): unknown[] | undefined =>
  'const' in schema ? [schema.const] : schema.enum?.filter((value) => value !== null)

function followed<Node>(node: Node | { $ref: string }, document: Document): Node {
  if (!(node as { $ref?: string }).$ref) return node as Node
  const [, , kind, name] = (node as { $ref: string }).$ref.split('/')
  return document.components[kind!]![name!] as Node
}

const parametersOf = ({ parameters = [] }: Operation, document: Document): Parameter[] =>
  parameters.map((parameter) => followed<Parameter>(parameter, document))

/** A schema of one type, and the name that a reference gives it. */
interface Shape {
  name: string | undefined
  schema: Schema
}

/** The schema of each type that a value may have. */
function byType(schema: Schema, document: Document, parent?: string): Map<string, Shape> {
  const name = nameOf(schema) ?? parent
  const { oneOf, ...whole } = followed<Schema>(schema, document)
  if (oneOf) return new Map(oneOf.flatMap((one) => [...byType(one, document, name)]))
  return new Map([whole.type ?? []].flat().map((type) => [type, { name, schema: whole }]))
}
