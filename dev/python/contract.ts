import type { EventKind } from '../../server/db/event-kinds.ts'
import type { Document } from '../openapi/document.ts'
import { alwaysIn, enumWords, type Schema } from '../openapi/schema.ts'
import { TIME_PATTERN } from '../openapi/time-pattern.ts'
import {
  type ApiCall,
  callsOf,
  nameOf,
  narrowingOf,
  OMITTED,
  queryName,
  querySchemaOf,
  RENAMED,
  splitReasons,
  takesKey,
  wrapParagraph,
} from '../openapi/typescript.ts'

const WIDTH = 120
/** Names of fields that a class cannot have. */
const KEYWORDS = new Set(['from'])

/** The Python client's `_contract.py`: the types of every request, response and event, and the route of every call. */
export function pythonOf(document: Document): string {
  const { schemas } = document.components
  const resolve = (schema: Schema) => schemas[nameOf(schema)]
  const type = (schema: Schema): string => {
    const target = resolve(schema)
    return target?.oneOf ? pythonType(target, type) : pythonType(schema, type)
  }
  const events = eventsOf(document)
  const calls = callsOf(document)
  const keyed = new Set(calls.filter(takesKey).map((call) => nameOf(responseOf(call))))
  const shown = Object.entries(schemas)
    .filter(([name, schema]) => !OMITTED.has(name) && !schema.oneOf)
    .map(([name, schema]) => [name, keyed.has(name) ? withReplay(schema) : schema] as const)
  const parts = [
    ...shown.map(([name, schema]) => declaration(name, schema, type, events.get(name))),
    ...calls.flatMap((call) => queryOf(call, type)),
    routes(calls),
  ]
  return [HEAD, ...parts].join('\n\n\n').concat('\n')
}

const HEAD = `# Generated from the contract by \`npm run gen\`. Do not edit.
"""The types of every request, response and event."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, NotRequired, TypedDict, final`

type TypeOf = (schema: Schema) => string

const literal = (words: unknown) =>
  listed(
    'Literal[',
    (words as string[]).map((word) => `"${word}"`),
    ',',
    ']',
  )
/** On one line where they are few, else one on each. */
function listed(open: string, items: string[], separator: string, close: string): string {
  const line = open + items.join(`${separator} `) + close
  if (line.length <= WIDTH - 30) return line
  return `${open}\n${items.map((item) => `    ${item}${separator}`).join('\n')}\n${close}`
}
/** A union of classes, in parentheses where it does not fit on a line. */
const unionOf = (names: string[]) => {
  const line = names.join(' | ')
  return line.length <= WIDTH - 40 ? line : `(\n    ${names.join('\n    | ')}\n)`
}

/** The Python type of a schema without its own declaration. Throws for a keyword it does not know. */
function pythonType(schema: Schema, type: TypeOf): string {
  const { $ref, oneOf, items, additionalProperties } = schema
  const words = enumWords(schema)
  if ($ref) return RENAMED[nameOf(schema)] ?? nameOf(schema)
  if (oneOf) return (oneOf as Schema[]).map(type).join(' | ')
  if (words) return literal(words)
  if (Array.isArray(schema.type)) return schema.type.map((one) => type({ ...schema, type: one })).join(' | ')
  if (schema.type === 'array') return `list[${type(items as Schema)}]`
  if (schema.type === 'object')
    return `dict[str, ${typeof additionalProperties === 'object' ? type(additionalProperties as Schema) : 'str'}]`
  if (schema.type === 'string' && schema.contentEncoding === 'base64') return 'str | bytes'
  const scalar = SCALARS[String(schema.type)]
  if (!scalar) throw new Error(`no Python type for ${JSON.stringify(schema)}`)
  return scalar
}

const SCALARS: Record<string, string> = {
  string: 'str',
  boolean: 'bool',
  integer: 'int',
  number: 'float',
  null: 'None',
}

function declaration(name: string, schema: Schema, type: TypeOf, event: string | undefined): string {
  const known = RENAMED[name] ?? name
  const { description } = schema
  const words = enumWords(schema)
  if (name === 'Reason') return `${reasonsOf(schema)}\n\nReason = BounceReason | RejectionReason\n${docOf(description)}`
  if (words) return `${name} = ${literal(words)}\n${docOf(description)}`
  const whole = event === undefined ? schema : withField(schema, 'event', { type: 'string', enum: [event] })
  const variants = variantsOf(whole)
  if (!variants) return classOf(known, whole, type)
  const classes = variants.map(({ suffix, schema }) => classOf(`${known}${suffix}`, schema, type, '@final\n'))
  const names = variants.map(({ suffix }) => `${known}${suffix}`)
  return [...classes, `${known} = ${unionOf(names)}\n${docOf(description)}`].join('\n\n\n')
}

/** Names a class for the fields that are keywords of Python, and one for all others. */
function classOf(name: string, schema: Schema, type: TypeOf, decorator = ''): string {
  const { properties = {}, description } = schema
  const always = alwaysIn(schema)
  const entries = Object.entries(properties as Record<string, Schema>).map(([field, one]) => {
    const isRequired = always.includes(field)
    const written = type(one).replaceAll('\n', '\n    ')
    return { field, type: isRequired ? written : `NotRequired[${written}]`, doc: one.description as string }
  })
  const keywords = entries.filter(({ field }) => KEYWORDS.has(field))
  const others = entries.filter(({ field }) => !KEYWORDS.has(field))
  const base = `_${name}Keywords`
  const head =
    keywords.length === 0
      ? ''
      : `${base} = TypedDict("${base}", {${keywords.map(({ field, type }) => `"${field}": ${type}`).join(', ')}})\n\n\n`
  const fields = others.map(({ field, type, doc }) => `    ${field}: ${type}\n${docOf(doc, '    ')}`)
  const doc = docOf(
    [description, ...keywords.map(({ field, doc }) => `\`${field}\`: ${doc}`)].filter(Boolean).join('\n'),
    '    ',
  )
  return `${head}${decorator}class ${name}(${head ? base : 'TypedDict'}):\n${doc}${fields.length > 0 ? `\n\n${fields.join('\n')}` : ''}`.trimEnd()
}

interface Variant {
  suffix: string
  schema: Schema
}

/**
 * What the contract says in comments, as types: which fields an outcome has depends on its status, those of an event on
 * its kind, those of a result on whether it failed. The same rules are in the TypeScript client's `outcome.ts`.
 */
function variantsOf(schema: Schema): Variant[] | undefined {
  const narrowing = narrowingOf(schema)
  if (narrowing === undefined) return undefined
  if (narrowing === 'ByResult') return [...byStatus(withResult(schema)), { suffix: 'Failed', schema: failed(schema) }]
  if (narrowing === 'ByStatus') return byStatus(schema)
  return Object.entries(OF_KIND).flatMap(([kind, variants]) =>
    variants(withField(schema, 'event', { type: 'string', enum: [kind] })),
  )
}

/** The classes of an event of each kind, from the schema with that kind. */
const OF_KIND: Record<EventKind, (schema: Schema) => Variant[]> = {
  'email.delivery': (schema) => byStatus(without(schema, 'feedback')),
  'email.feedback': (schema) => [
    { suffix: 'Feedback', schema: required(without(schema, 'smtp', 'retryable', 'in_doubt'), 'feedback') },
  ],
}

function byStatus(schema: Schema): Variant[] {
  const of = (status: string) => withField(schema, 'status', { type: 'string', enum: [status] })
  const bounce = { $ref: '#/BounceReason' }
  const rejection = { $ref: '#/RejectionReason' }
  return [
    {
      suffix: 'Delivered',
      schema: without(of('delivered'), 'reason', 'retryable', 'in_doubt', 'suppression', 'detail'),
    },
    { suffix: 'Bounced', schema: without(withField(of('bounced'), 'reason', bounce), 'suppression') },
    { suffix: 'Rejected', schema: without(withField(of('rejected'), 'reason', rejection), 'retryable', 'in_doubt') },
  ]
}

const withResult = (schema: Schema) =>
  required(without(schema, 'error', 'message', 'retry_after', 'details'), 'message_id')

const failed = (schema: Schema) =>
  required(
    without(
      schema,
      ...['message_id', 'status', 'reason', 'retryable', 'in_doubt', 'smtp', 'recipients', 'sandbox', 'checks'],
      ...['suppression', 'detail'],
    ),
    'error',
    'message',
  )

const responseOf = ({ responses }: ApiCall) => responses[200].content['application/json'].schema

/** What the headers of a response say about its idempotency key, which the client puts beside its fields. */
function withReplay(schema: Schema): Schema {
  const replayed = 'The key was used before. This is the first response, and this call sent nothing.'
  const mismatch = 'The body of this call differs from the first one. What the first one asked for counts.'
  return {
    ...schema,
    properties: {
      ...(schema.properties as object),
      replayed: { type: 'boolean', description: replayed },
      mismatch: { type: 'boolean', description: mismatch },
    },
  }
}

function without(schema: Schema, ...names: string[]): Schema {
  const kept = Object.entries(schema.properties as object).filter(([name]) => !names.includes(name))
  const required = ((schema.required ?? []) as string[]).filter((name) => !names.includes(name))
  return { ...schema, properties: Object.fromEntries(kept), required }
}

const required = (schema: Schema, ...names: string[]): Schema => ({
  ...schema,
  required: [...((schema.required ?? []) as string[]), ...names],
})

/** The schema with another type of a field, which it then always has. */
function withField(schema: Schema, name: string, field: Schema): Schema {
  const properties = schema.properties as Record<string, Schema>
  const replaced = { ...properties[name], $ref: undefined, ...field }
  return required({ ...schema, properties: { ...properties, [name]: replaced } }, name)
}

function reasonsOf(schema: Schema): string {
  const { bounces, rejections } = splitReasons(schema)
  return [
    `BounceReason = ${literal(bounces)}\n"""Reasons of a bounce."""`,
    `RejectionReason = ${literal(rejections)}\n"""Reasons of a rejection."""`,
  ].join('\n\n')
}

/** The kind of event whose payload a schema is, such as `email.delivery`. */
function eventsOf({ webhooks }: Document): Map<string, string> {
  const all = Object.entries(webhooks as Record<string, { post?: unknown }>).map(([name, { post }]) => {
    const { schema } = (post as { requestBody: { content: { 'application/json': { schema: Schema } } } }).requestBody
      .content['application/json']
    return [nameOf(schema), name.replace(/[A-Z]/, (letter) => `.${letter.toLowerCase()}`)] as const
  })
  return new Map(all)
}

function queryOf(call: ApiCall, type: TypeOf): string[] {
  const query = querySchemaOf(call)
  if (!query) return []
  const filter = (schema: Schema) => (schema.pattern === TIME_PATTERN ? 'str | datetime | date' : type(schema))
  return [classOf(queryName(call), query, filter)]
}

function routes(calls: ApiCall[]): string {
  const lines = calls.map((call) => {
    return `    "${call.operationId}": ("${call.method}", "${call.path}", ${takesKey(call) ? 'True' : 'False'}),`
  })
  return `ROUTES: dict[str, tuple[str, str, bool]] = {\n${lines.join('\n')}\n}\n"""The method and path of each call, and whether it takes an \`Idempotency-Key\`."""`
}

function docOf(description: unknown, indent = ''): string {
  const lines = String(description ?? '')
    .replaceAll('\\', '\\\\')
    .replaceAll('"""', "'''")
    .split('\n')
    .flatMap((line) => wrapParagraph(line, WIDTH - indent.length - 6))
  const [first = '', ...others] = lines
  if (others.length === 0) return first === '' ? '' : `${indent}"""${first.replace(/"$/, '" ')}"""`
  return `${indent}"""${first}\n${others.map((line) => `${indent}${line}`.trimEnd()).join('\n')}\n${indent}"""`
}
