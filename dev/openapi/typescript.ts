import type { Document } from './document.ts'
import { alwaysIn, enumWords, type Schema } from './schema.ts'
import { CONTRACT_NAMES } from './schema-names.ts'
import { TIME_PATTERN } from './time-pattern.ts'

/** The client's types have the contract's names. `Error` is a global name in TypeScript. */
export const RENAMED: Record<string, string> = { ...CONTRACT_NAMES, Error: 'ErrorBody' }
/** What the server says about itself is not part of the client. */
export const OMITTED = new Set(['Health', 'Readiness', 'KeySet'])
const SERVER_TAG = 'Server'
const WIDTH = 120

interface ParameterObject {
  name: string
  in: string
  description: string
  required: boolean
  schema: Schema
}

interface Operation {
  operationId: string
  tags: string[]
  parameters?: ParameterObject[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: { 200: { content: { 'application/json': { schema: Schema } } } }
}

export interface ApiCall extends Operation {
  method: string
  path: string
}

/** `client/gen/contract.ts`: the types of every request, response and event, and the route of every call. */
export function typeScriptOf(document: Document): string {
  const { schemas } = document.components
  const type = (schema: Schema): string => {
    const known = schemas[nameOf(schema)]
    return known?.oneOf ? type(known) : typescriptType(schema, type)
  }
  const shown = Object.entries(schemas).filter(([name, schema]) => !OMITTED.has(name) && !schema.oneOf)
  const calls = callsOf(document)
  const queries = calls.flatMap((call) => queryOf(call, type))
  const parts = [...shown.map(([name, schema]) => declaration(name, schema, type)), ...queries, ...routes(calls, type)]
  return [HEAD, ...parts].join('\n\n').concat('\n')
}

const HEAD = `// Generated from the contract by \`npm run gen\`. Do not edit.

import type { ByEvent, ByResult, ByStatus } from '../outcome.ts'`

type TypeOf = (schema: Schema) => string

/** The name of the schema that a schema refers to. */
export const nameOf = ({ $ref }: Schema) => String($ref).replace(/.*\//, '')
const quoted = (words: string[]) => words.map((word) => `'${word}'`).join(' | ')

/** The TypeScript type of a schema without its own declaration. Throws for a keyword it does not know. */
function typescriptType(schema: Schema, type: TypeOf): string {
  const { $ref, oneOf, items, additionalProperties, properties } = schema
  const words = enumWords(schema)
  if ($ref) return RENAMED[nameOf(schema)] ?? nameOf(schema)
  if (oneOf) return (oneOf as Schema[]).map(type).join(' | ')
  if (words) return quoted(words)
  if (Array.isArray(schema.type)) return schema.type.map((one) => type({ ...schema, type: one })).join(' | ')
  if (schema.type === 'array') return list(type(items as Schema))
  if (properties)
    return `{ ${Object.entries(properties)
      .map(([name, one]) => `${name}: ${type(one)}`)
      .join('; ')} }`
  if (schema.type === 'object')
    return `Record<string, ${typeof additionalProperties === 'object' ? type(additionalProperties as Schema) : 'never'}>`
  const scalar = SCALARS[String(schema.type)]
  if (!scalar) throw new Error(`no TypeScript type for ${JSON.stringify(schema)}`)
  return scalar
}

const list = (item: string) => (/^\w+$/.test(item) ? `${item}[]` : `(${item})[]`)
const SCALARS: Record<string, string> = {
  string: 'string',
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  null: 'null',
}

function declaration(name: string, schema: Schema, type: TypeOf): string {
  const { description } = schema
  const words = enumWords(schema)
  const head = comment(description as string)
  if (name === 'Reason') return `${head}export type Reason = BounceReason | RejectionReason\n\n${reasonsOf(schema)}`
  if (words) return `${head}export type ${name} = ${quoted(words)}`
  const known = RENAMED[name] ?? name
  const narrowing = narrowingOf(schema)
  if (!narrowing) return `${head}export interface ${known} ${fields(schema, type)}`
  const narrowed = `export type ${known} = ${narrowing}<${known}Fields, BounceReason, RejectionReason>`
  return `${head}${narrowed}\n\ninterface ${known}Fields ${fields(schema, type)}`
}

/** The type of `client/outcome.ts` that narrows an outcome: the contract says in comments which fields a status has. */
export function narrowingOf({ properties, required }: Schema): 'ByStatus' | 'ByResult' | 'ByEvent' | undefined {
  const { status, reason, error, feedback } = (properties ?? {}) as Record<string, Schema>
  if (!reason || !status || nameOf(status) !== 'DeliveryStatus') return undefined
  if (error) return 'ByResult'
  if (!feedback || feedback.type === 'array') return 'ByStatus'
  // A report does not change the status that it repeats.
  return (required as string[]).includes('feedback') ? undefined : 'ByEvent'
}

/** The reasons of a bounce and those of a rejection: the comment of each begins with one of these words. */
export function splitReasons(schema: Schema): { bounces: string[]; rejections: string[] } {
  const { description } = schema
  const words = enumWords(schema) ?? []
  const of = (status: string) => words.filter((word) => String(description).includes(`- \`${word}\`: ${status}: `))
  const [bounces, rejections] = [of('Bounce'), of('Rejection')]
  if (words.length === 0 || bounces.length + rejections.length !== words.length) {
    throw new Error('the comment of every Reason begins with "Bounce: " or "Rejection: "')
  }
  return { bounces, rejections }
}

function reasonsOf(schema: Schema): string {
  const { bounces, rejections } = splitReasons(schema)
  return `/** Reasons of a bounce. */
export type BounceReason = ${quoted(bounces)}

/** Reasons of a rejection. */
export type RejectionReason = ${quoted(rejections)}`
}

function fields(whole: Schema, type: TypeOf): string {
  const always = alwaysIn(whole)
  const lines = Object.entries(whole.properties as Record<string, Schema>).map(([name, schema]) => {
    const optional = always.includes(name) ? '' : '?'
    return `${comment(schema.description as string, '  ')}  ${name}${optional}: ${type(schema)}`
  })
  return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n}`
}

function comment(text: string, indent = ''): string {
  const lines = text
    .replaceAll('*/', '*\\/')
    .split('\n')
    .flatMap((line) => wrapParagraph(line, WIDTH - indent.length - 3))
  if (lines.length === 1 && `${indent}/** ${lines[0]} */`.length <= WIDTH) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}

/** The lines of one paragraph, or of one item of a list. */
export function wrapParagraph(text: string, width: number): string[] {
  const margin = text.startsWith('- ') ? '  ' : ''
  const [first = '', ...words] = text.split(' ')
  const lines = [first]
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`
    if (longer.length <= width) lines[lines.length - 1] = longer
    else lines.push(margin + word)
  }
  return lines
}

export function callsOf({ paths }: Document): ApiCall[] {
  const all = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({
      ...(operation as Operation),
      method: verb.toUpperCase(),
      path,
    })),
  )
  return all.filter(({ tags }) => !tags.includes(SERVER_TAG))
}

export const parametersOf = ({ parameters = [] }: ApiCall, place: string) =>
  parameters.filter((one) => one.in === place)
export const queryName = ({ operationId }: ApiCall) =>
  `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Query`

export const takesKey = (call: ApiCall) => parametersOf(call, 'header').some(({ name }) => name === 'Idempotency-Key')

/** The query of a call as the schema of an object, if it has one. */
export function querySchemaOf(call: ApiCall): Schema | undefined {
  const query = parametersOf(call, 'query')
  if (query.length === 0) return undefined
  const properties = query.map(({ name, description, schema }) => [name, { description, ...schema }])
  const required = query.filter((one) => one.required).map(({ name }) => name)
  return { properties: Object.fromEntries(properties), required }
}

/** The declaration of a call's query, if it has one. */
function queryOf(call: ApiCall, type: TypeOf): string[] {
  const query = querySchemaOf(call)
  if (!query) return []
  const filter = (schema: Schema) => (schema.pattern === TIME_PATTERN ? 'string | Date' : type(schema))
  return [`export interface ${queryName(call)} ${fields(query, filter)}`]
}

function routes(calls: ApiCall[], type: TypeOf): string[] {
  const shapes = calls.map((call) => `  ${call.operationId}: { ${shapeOf(call, type).join('; ')} }`)
  const table = calls.map((call) => {
    return `  ${call.operationId}: { method: '${call.method}', path: '${call.path}', takesKey: ${takesKey(call)} },`
  })
  return [
    `/** What each call takes and returns. */\nexport interface Calls {\n${shapes.join('\n')}\n}`,
    `/** The route of each call, and whether it takes an \`Idempotency-Key\`. */\nexport const ROUTES = {\n${table.join('\n')}\n} as const`,
  ]
}

function shapeOf(call: ApiCall, type: TypeOf): string[] {
  const inPath = parametersOf(call, 'path').map(({ name }) => `${name}: string`)
  const body = call.requestBody?.content['application/json'].schema
  return [
    ...(inPath.length > 0 ? [`path: { ${inPath.join('; ')} }`] : []),
    ...(parametersOf(call, 'query').length > 0 ? [`query: ${queryName(call)}`] : []),
    ...(body ? [`body: ${type(body)}`] : []),
    `response: ${type(call.responses[200].content['application/json'].schema)}`,
  ]
}
