import type { Document } from '../openapi/document.ts'
import { anchorOf, type Guide } from './guides.ts'

// The pages of the reference, written as Markdown from the OpenAPI document: one for each tag, and one with all
// schemas.

interface DescribedSchema {
  $ref?: string
  description?: string
  type?: string | string[]
  properties?: Record<string, DescribedSchema>
  required?: string[]
  items?: DescribedSchema
  oneOf?: DescribedSchema[]
  additionalProperties?: boolean | DescribedSchema
  format?: string
  const?: unknown
  minimum?: number
  maximum?: number
}

interface ParameterObject {
  $ref?: string
  name: string
  in: string
  required?: boolean
  description: string
  schema: DescribedSchema
}

interface Content {
  content: Record<string, { schema: DescribedSchema; example?: unknown }>
}

interface Operation {
  tags: [string]
  summary: string
  description?: string
  parameters?: ParameterObject[]
  requestBody?: Content
  responses: Record<string, Content & { description: string }>
  'x-codeSamples'?: { label: string; lang: string; source: string }[]
}

interface DescribedCall {
  /** `POST /api/v1/emails/send`; undefined for a payload that receivers get. */
  request?: string
  operation: Operation
}

const SCHEMAS = 'schemas'

/** The guides of the reference: its first page, one for each tag, and the schemas. */
export function referenceGuides(document: Document): Guide[] {
  const byTag = Map.groupBy(callsOf(document), ({ operation }) => operation.tags[0])
  const described = document.tags as { name: string; description: string }[]
  const tags = described.map((tag) => ({ ...tag, calls: byTag.get(tag.name)! }))
  const pages = tags.map(({ name, description, calls }) => {
    const texts = calls.map((call) => callText(call, document))
    return guide(name.toLowerCase(), name, [description, ...texts])
  })
  const list = tags.map(({ name, calls }) => {
    const rows = calls.map(({ request, operation: { summary } }) => [
      request ? code(request) : 'a webhook',
      `[${summary}](${name.toLowerCase()}.md#${anchorOf(summary)})`,
    ])
    return `## ${name}\n\n${table(['Request', 'What it does'], rows)}`
  })
  const { description } = document.info as { description: string }
  const raw = 'Tools read the same from `/api/v1/openapi.json` (OpenAPI 3.1).'
  const schemas = Object.entries(schemasOf(document)).map(
    ([name, schema]) => `## ${name}\n\n${schemaText(schema, document)}`,
  )
  return [
    guide('index', 'API reference', [description, raw, ...list]),
    ...pages,
    guide(SCHEMAS, 'Schemas', ['The objects and words of requests and responses.', ...schemas]),
  ]
}

const guide = (name: string, title: string, parts: string[]): Guide => ({
  file: `reference/${name}.md`,
  path: `reference/${name}`,
  title,
  text: [`# ${title}`, ...parts].join('\n\n'),
})

function callsOf({ paths, webhooks }: Document): DescribedCall[] {
  const calls = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({
      request: `${verb.toUpperCase()} ${path}`,
      operation: operation as Operation,
    })),
  )
  const payloads = Object.values(webhooks).map((webhook) => ({ operation: (webhook as { post: Operation }).post }))
  return [...calls, ...payloads]
}

function callText({ request, operation }: DescribedCall, document: Document): string {
  const { summary, description, parameters = [], requestBody, responses } = operation
  const known = document.components.parameters as unknown as Record<string, ParameterObject>
  const given = parameters.map((parameter) => (parameter.$ref ? known[nameOf(parameter.$ref)]! : parameter))
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2'))!
  const errors = Object.entries(responses).filter(([status]) => !status.startsWith('2'))
  return [
    `## ${summary}`,
    request && fence('http', request),
    description,
    given.length > 0 &&
      `**Parameters**\n\n${table(
        ['Name', 'In', 'Type', 'Meaning'],
        given.map((parameter) => parameterRow(parameter, document)),
      )}`,
    requestBody && `**Body**\n\n${bodyText(requestBody, document)}`,
    ...samplesOf(operation),
    request && `**Response**\n\n${bodyText(success, document)}`,
    request &&
      errors.length > 0 &&
      table(
        ['Status', 'Error'],
        errors.map(([status, { description }]) => [status, description]),
      ),
  ]
    .filter(Boolean)
    .join('\n\n')
}

const parameterRow = ({ name, in: place, required, description, schema }: ParameterObject, document: Document) => [
  code(name) + (required ? ' (required)' : ''),
  place,
  typeInWords(schema, document),
  description,
]

/** The fields of a body, and its example. */
function bodyText({ content }: Content, document: Document): string {
  const { schema, example } = Object.values(content)[0]!
  const named = schema.$ref ? schemasOf(document)[nameOf(schema.$ref)]! : schema
  const text = named.properties ? fieldTable(named, document) : typeInWords(schema, document)
  return example === undefined ? text : `${text}\n\n${fence('json', asText(example))}`
}

const asText = (example: unknown) => (typeof example === 'string' ? example : JSON.stringify(example, null, 2))

/** The first sample is open. */
const samplesOf = ({ 'x-codeSamples': samples = [] }: Operation) =>
  samples.map(({ label, lang, source }, at) => {
    const open = at === 0 ? ' open' : ''
    return `<details${open}><summary>${label}</summary>\n\n${fence(lang.toLowerCase(), source)}\n\n</details>`
  })

function schemaText(schema: DescribedSchema, document: Document): string {
  const { description = '', properties } = schema
  return properties
    ? `${description}\n\n${fieldTable(schema, document)}`
    : `${description}\n\nType: ${typeInWords(schema, document)}`
}

const fieldTable = ({ properties = {}, required = [] }: DescribedSchema, document: Document) =>
  table(
    ['Field', 'Type', 'Meaning'],
    Object.entries(properties).map(([name, field]) => [
      code(name) + (required.includes(name) ? ' (required)' : ''),
      typeInWords(field, document),
      field.description ?? '',
    ]),
  )

/** `string or null`, `a list of [Reason](schemas.md#reason)`, `integer, 1 to 100`. */
function typeInWords(schema: DescribedSchema, document: Document): string {
  const { $ref, type, items, oneOf, additionalProperties, format, const: only, minimum, maximum } = schema
  if ($ref) {
    const name = nameOf($ref)
    const { oneOf } = schemasOf(document)[name]!
    return oneOf ? typeInWords({ oneOf }, document) : `[${name}](${SCHEMAS}.md#${anchorOf(name)})`
  }
  if (only !== undefined) return code(JSON.stringify(only))
  if (oneOf) return [...new Set(oneOf.map((one) => typeInWords(one, document)))].join(' or ')
  if (items) return `a list of ${typeInWords(items, document)}`
  if (typeof additionalProperties === 'object') return `a map to ${typeInWords(additionalProperties, document)}`
  const range = minimum !== undefined && maximum !== undefined ? `, ${minimum} to ${maximum}` : ''
  return [type ?? 'anything'].flat().join(' or ') + (format ? ` (${format})` : '') + range
}

const schemasOf = ({ components }: Document) => components.schemas as Record<string, DescribedSchema>
const nameOf = (ref: string) => ref.replace(/.*\//, '')
const code = (text: string) => `\`${text}\``
const fence = (lang: string, text: string) => `\`\`\`\`${lang}\n${text}\n\`\`\`\``

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')
function table(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows.map((row) => row.map(cell))]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
