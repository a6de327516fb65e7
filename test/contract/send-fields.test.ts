import { readFileSync } from 'node:fs'
import { type DescField, toJson } from '@bufbuild/protobuf'
import { FieldOptionsSchema } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import { sendCommand } from '../../cli/emails.ts'
import { BatchItemSchema, GetEmailResponseSchema, SendRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'

// A new field of a send is complete only when it is everywhere. CONTRIBUTING.md lists every file.

/** The document has the comments of the contract, which the generated code has not. */
const { schemas } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')).components

const REQUEST_FIELDS = SendRequestSchema.fields.map((field) => field.name)

/** What the two messages of a request must have in common. */
function shapeOf(field: DescField) {
  const { name, number, jsonName, fieldKind, proto } = field
  const options = proto.options && toJson(FieldOptionsSchema, proto.options)
  const comment = schemas[field.parent.name].properties[name]?.description
  return {
    name,
    number,
    jsonName,
    fieldKind,
    type: proto.type,
    typeName: proto.typeName,
    label: proto.label,
    options,
    comment,
  }
}

/** Fields whose comment differs: the sender's domain is an error of a send, and an outcome within a batch. */
const OTHER_COMMENT = ['from']

test('a message of a batch has the fields of a send, with the same numbers, types, options and comments', () => {
  const ofSend = SendRequestSchema.fields.map(shapeOf)
  const ofBatch = BatchItemSchema.fields.filter(({ name }) => name !== 'idempotency_key').map(shapeOf)
  const comparable = (shapes: ReturnType<typeof shapeOf>[]) =>
    shapes.map((shape) => ({
      ...shape,
      // The entry type of a map is nested in its message.
      typeName: shape.typeName.replace(/^\.verdict\.v1\.(?:SendRequest|BatchItem)\./, ''),
      comment: OTHER_COMMENT.includes(shape.name) ? undefined : shape.comment,
    }))
  expect(comparable(ofBatch)).toEqual(comparable(ofSend))
  expect(ofSend.filter(({ comment }) => !comment)).toEqual([])
})

test('every field of a send comes back in Get email', () => {
  const returned = GetEmailResponseSchema.fields.map(({ name }) => name)
  expect(REQUEST_FIELDS.filter((name) => !returned.includes(name))).toEqual([])
})

/** Options of the command line with another name than their field. */
const OPTIONS: Record<string, string> = { headers: 'header', attachments: 'attach', tenant_id: 'tenant' }

test('every field of a send is an option of the command line', () => {
  const options = sendCommand(() => {}).options.map(({ long }) => long)
  const expected = REQUEST_FIELDS.map((name) => `--${(OPTIONS[name] ?? name).replaceAll('_', '-')}`)
  expect(expected.filter((option) => !options.includes(option))).toEqual([])
})

/** Fields that a stored email does not have: the page says so where it offers the command. */
const NOT_STORED = ['attachments']

test('the command that the dashboard offers for a stored email sends every field again', () => {
  const source = readFileSync('dashboard/messages/send-command.ts', 'utf8')
  const body = source.slice(source.indexOf('function bodyOf'))
  const missing = REQUEST_FIELDS.filter((name) => !new RegExp(`^ {4}.*\\b${name}\\b`, 'm').test(body))
  expect(missing).toEqual(NOT_STORED)
})
