import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { ROLE_WORDS } from '../../account/account.ts'
import { EVENT_KIND_NAMES } from '../../events/event-kinds.ts'
import { countOf } from '../../numbers/quantities.ts'
import { minuteOf } from '../../time/times.ts'

type ChangedFields = Readonly<Record<string, unknown>>

/** Fields whose names are not words. Others are shown with spaces: `already_suppressed` is "already suppressed". */
const NAMES: Record<string, string> = {
  url: 'URL',
  already_suppressed: 'already suppressed',
  invalid: 'not an address',
  test: 'test key',
  expires_at: 'expires',
  revoked_at: 'revoked',
  warm_up: 'warm-up',
  require_tls: 'TLS required',
  per_second: 'at most per second',
  total: 'events in total',
  failures: 'times',
}

/** Values that the pages name by other words. */
const WORDS: Record<string, Record<string, string>> = {
  role: Object.fromEntries(Object.entries(Role).map(([name, role]) => [name.toLowerCase(), ROLE_WORDS[role]])),
  events: Object.fromEntries(EVENT_KIND_NAMES.map(({ kind, events }) => [kind, events])),
}

/** The field of an action that the words of its entry already say. */
const IN_ENTRY_WORDS: Record<string, string> = { 'suppression.import': 'state', 'person.second_factor': 'on' }

export interface ChangedField {
  name: string
  /** Undefined when there was none. */
  before: string | undefined
  after: string | undefined
}

/** The fields of a change in words. A field that has no value before and after is left out. */
export function changedFields(action: string, before: ChangedFields, after: ChangedFields): ChangedField[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.flatMap((name) => {
    if (IN_ENTRY_WORDS[action] === name) return []
    const change = {
      name: nameWords(name),
      before: valueWords(name, before[name]),
      after: valueWords(name, after[name]),
    }
    if (change.before === undefined && change.after === undefined) return []
    if (change.before !== undefined && change.after === undefined && name in after) change.after = 'none'
    return [change]
  })
}

const nameWords = (name: string) =>
  NAMES[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll('_', ' ')

function valueWords(name: string, value: unknown): string | undefined {
  if (typeof value === 'string' && WORDS[name]?.[value]) return WORDS[name][value]
  if (value === null || value === undefined || value === '') return undefined
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return countOf(value)
  if (Array.isArray(value)) return value.map((one) => valueWords(name, one)).join(', ') || undefined
  if (typeof value === 'object') return fieldsInWords(value as ChangedFields)
  const text = String(value)
  return name.endsWith('_at') && !Number.isNaN(Date.parse(text)) ? minuteOf(Date.parse(text)) : text
}

function fieldsInWords(fields: ChangedFields): string | undefined {
  const parts = Object.entries(fields).map(([name, value]) => [nameWords(name), valueWords(name, value)])
  return parts.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`])).join(', ') || undefined
}
