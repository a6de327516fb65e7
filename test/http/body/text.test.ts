import { create, type DescField, type DescMessage, fromJson, type JsonValue, ScalarType } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { DomainService } from '../../../gen/verdict/v1/domains_pb.ts'
import { EmailService, SendRequestSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../../gen/verdict/v1/events_pb.ts'
import { StatsService } from '../../../gen/verdict/v1/stats_pb.ts'
import { SuppressionService } from '../../../gen/verdict/v1/suppression_pb.ts'
import { WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { MAX_TEXT_CHARACTERS, textFaults } from '../../../server/http/body/text.ts'

const SERVICES = [DomainService, EmailService, EventService, StatsService, SuppressionService, WebhookService]
const REQUESTS = [...new Set(SERVICES.flatMap(({ methods }) => methods.map(({ input }) => input)))]

/** Requests as Protobuf JSON with a single text set. */
function* eachText(desc: DescMessage, text: string): Generator<{ field: DescField; json: JsonValue }> {
  for (const field of desc.fields) {
    const wrap = (value: JsonValue) => ({ [field.jsonName]: field.fieldKind === 'list' ? [value] : value })
    if (field.fieldKind === 'map') {
      yield { field, json: wrap({ [text]: 'a' }) }
      yield { field, json: wrap({ a: text }) }
    } else if (field.scalar === ScalarType.STRING) yield { field, json: wrap(text) }
    else if (field.message && !field.message.typeName.startsWith('google.')) {
      for (const inner of eachText(field.message, text)) yield { ...inner, json: wrap(inner.json) }
    }
  }
}

/** The readers of these check a limit first: bodies have one in bytes, and each address in a list has one. */
const isLonger = ({ name, fieldKind }: DescField) => name === 'html' || name === 'text' || fieldKind === 'list'

test('every text of every method is refused before it is read when it is far too long', () => {
  const long = '/'.repeat(MAX_TEXT_CHARACTERS + 1)
  const read = REQUESTS.flatMap((desc) =>
    Array.from(eachText(desc, long), ({ field, json }) => {
      const { fields, items } = textFaults(desc, fromJson(desc, json))
      return {
        name: `${desc.name} ${field.name}`,
        most: isLonger(field) ? 0 : 1,
        faults: fields.length + items.size,
      }
    }),
  )
  expect(read.length).toBeGreaterThan(30)
  for (const { name, most, faults } of read) expect([name, faults]).toEqual([name, most])
})

test('a text of the largest length is read', () => {
  const longest = 'a'.repeat(MAX_TEXT_CHARACTERS)
  expect(textFaults(SendRequestSchema, create(SendRequestSchema, { subject: longest })).fields).toEqual([])
})
