import { cleanText } from '../../net/clean-text.ts'
import type { SchemaObject } from './contract.ts'

/** Longer texts are cut: an agent pays for every character, and a body may have 2 MiB. */
const LONGEST = 10_000

/** Texts that the service itself makes. */
const OWN = new Set([
  'message_id',
  'event_id',
  'dispatch_id',
  'endpoint_id',
  'domain_id',
  'retry_of',
  'retried_by',
  'next_cursor',
  'event',
  'name',
  'read_as',
  'record',
  'type',
  'host',
  'value',
  'strings',
  'selector',
])

/**
 * Puts every text that others may have written into `{"untrusted_text": ...}`, so that a model tells it from the
 * service's own words. Text is the service's own when the contract lists it, when it is a time, or when its
 * name is above: a field that a later version adds is marked until its name is added here.
 */
export function marked(value: unknown, schema: SchemaObject | undefined, name = ''): unknown {
  if (typeof value === 'string') return isOwn(value, schema, name) ? value : untrusted(value)
  if (Array.isArray(value)) return value.map((item) => marked(item, schema?.items, name))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  // Names of headers and of metadata are text of the sender's, too.
  if (typeof schema?.additionalProperties === 'object')
    return entries.map(([key, one]) => ({ name: untrusted(key), value: untrusted(String(one)) }))
  return Object.fromEntries(
    entries.map(([key, one]) => [key, marked(one, alternative(schema?.properties?.[key]), key)]),
  )
}

export function untrusted(text: string) {
  const clean = cleanText(text, { keep: '\n\t' })
  if (clean.length <= LONGEST) return { untrusted_text: clean }
  return { untrusted_text: clean.slice(0, LONGEST), cut_from_characters: clean.length }
}

const isOwn = (text: string, schema: SchemaObject | undefined, name: string) =>
  schema?.['x-extensible-enum']?.includes(text) || schema?.format === 'date-time' || OWN.has(name)

/** The member of `null or a value` that describes the value. */
const alternative = (schema: SchemaObject | undefined) => schema?.oneOf?.find(({ type }) => type !== 'null') ?? schema
