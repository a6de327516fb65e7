import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf'
import { SendBatchResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { MENTIONS } from '../db/mentions.ts'
import { idsOfDay } from '../db/partitions.ts'
import { HISTORY } from '../db/schema.ts'
import { eraseRequest } from './request.ts'
import { ERASED_TEXT, mapStrings, type Wanted } from './spellings.ts'

// Every column of the database in which an address may stand, and how an erasure changes it.
// docs/erasure.md says why the others stay.

/** The columns of a row, by name: texts, parsed JSON, and bytes. */
export type Fields = Record<string, unknown>

export type Kind = 'text' | 'json' | 'answer'

/** Puts a value among the parameters of a statement, and returns its name there. */
export type Parameter = (value: string) => string

export interface Place {
  table: string
  columns: Record<string, Kind>
  /** SQL: the account of a row of `t`. */
  account: string
  /** SQL: which rows of `t` are looked at; all by default. */
  only?: string
  /**
   * SQL: which rows of `t`, a day of history of this name, may mention the address. Indexes find them. Without it every
   * row is read.
   */
  candidates?(wanted: Wanted, day: string, parameter: Parameter): string
  /** Changes the columns of a row that mentions the address. By default the address is replaced in all of them. */
  erase?(row: Fields, wanted: Wanted): Fields
}

const OWN_ACCOUNT = 't.account_id'
const DISPATCHES = '(select id, account_id from dispatches union all select id, account_id from open_dispatches)'

export const PLACES: readonly Place[] = [
  // Messages come before their recipients, by which they are found.
  {
    table: 'messages',
    columns: { request: 'json', tag: 'text', checks: 'json' },
    account: OWN_ACCOUNT,
    erase: (row, wanted) => ({ ...replaced(row, wanted), request: eraseRequest(row.request as never, wanted) }),
    // A message of an earlier version has no domain.
    candidates: (wanted, day, parameter) => `
      ${MENTIONS.messages} or domain in (${parameter(domainOf(wanted.email))}, '')
      or id = any((select array(${messagesTo(wanted, day, parameter)}))::uuid[])`,
  },
  {
    table: 'recipients',
    columns: { email: 'text', smtp: 'json' },
    // A row of an earlier version has no account.
    account: 'coalesce(t.account_id, (select m.account_id from messages m where m.id = t.message_id))',
    erase: (row, wanted) =>
      wanted.isIt(row.email as string) ? { email: wanted.erased, smtp: bareEvidence(row.smtp) } : replaced(row, wanted),
    candidates: ({ email }, _, parameter) => `lower(email) = ${parameter(email)} or ${MENTIONS.recipients}`,
  },
  {
    table: 'events',
    columns: { recipient: 'text', metadata: 'json', tag: 'text', detail: 'text' },
    account: OWN_ACCOUNT,
    erase: (row, wanted) => withDetailOf(row, 'recipient', wanted),
    candidates: ({ email }, _, parameter) => `lower(recipient) = ${parameter(email)} or ${MENTIONS.events}`,
  },
  {
    table: 'attempts',
    columns: { excerpt: 'text' },
    account: `(select d.account_id from ${DISPATCHES} d where d.id = t.dispatch_id limit 1)`,
  },
  {
    table: 'feedback',
    columns: { recipient: 'text', detail: 'text' },
    account: OWN_ACCOUNT,
    erase: (row, wanted) => withDetailOf(row, 'recipient', wanted),
  },
  {
    table: 'suppressions',
    columns: { email: 'text', detail: 'text' },
    account: OWN_ACCOUNT,
    erase: (row, wanted) => withDetailOf(row, 'email', wanted),
  },
  { table: 'suppression_strikes', columns: { email: 'text' }, account: OWN_ACCOUNT },
  { table: 'batch_keys', columns: { answer: 'answer' }, account: OWN_ACCOUNT },
  { table: 'range_replays', columns: { filter: 'json' }, account: OWN_ACCOUNT },
  { table: 'suppression_imports', columns: { file_name: 'text' }, account: OWN_ACCOUNT },
  {
    table: 'import_faults',
    columns: { text: 'text', message: 'text' },
    account: '(select i.account_id from suppression_imports i where i.id = t.import_id)',
  },
  {
    table: 'audit_entries',
    columns: { target: 'text', before: 'json', after: 'json' },
    account: OWN_ACCOUNT,
    // The people of the dashboard answer for what they changed.
    only: `t.action not like 'person.%'`,
  },
]

/** SQL: the ids of a day's messages to the address, whose recipients may be erased already. */
function messagesTo({ email, erased }: Wanted, day: string, parameter: Parameter): string {
  const { first, end } = idsOfDay(day)
  return `
    select message_id from recipients
    where lower(email) in (${parameter(email)}, ${parameter(erased)}) and message_id >= '${first}' and message_id < '${end}'`
}

const domainOf = (email: string) => email.slice(email.lastIndexOf('@') + 1)

export const isHistory = (table: string): boolean => Object.hasOwn(HISTORY, table)

/** The row with the address replaced wherever it stands. */
export function replaced(row: Fields, wanted: Wanted): Fields {
  return mapFields(row, (value) => mapStrings(value, wanted.replaceIn))
}

export function mentions(row: Fields, wanted: Wanted): boolean {
  let found = false
  const look = (text: string) => {
    found ||= wanted.isIt(text) || wanted.mentions(text)
    return text
  }
  mapFields(row, (value) => mapStrings(value, look))
  return found
}

const mapFields = (row: Fields, change: (value: unknown) => unknown): Fields =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, change(value)]))

/** A report or a reply about the address itself goes as a whole: it may name the person in other words. */
function withDetailOf(row: Fields, addressColumn: string, wanted: Wanted): Fields {
  const isAboutIt = wanted.isIt(row[addressColumn] as string)
  return { ...replaced(row, wanted), ...(isAboutIt && row.detail !== null ? { detail: ERASED_TEXT } : {}) }
}

/** The evidence of the address's own server: hosts and texts may name the person, codes and times do not. */
function bareEvidence(smtp: unknown): unknown {
  if (smtp === null) return null
  const { mx, ip, tried, detail, reply, ...rest } = smtp as Fields
  return reply === undefined ? rest : { ...rest, reply: ERASED_TEXT }
}

/** The response of a batch, as its repeats return it. */
export function readAnswer(bytes: Uint8Array): unknown {
  return toJson(SendBatchResponseSchema, fromBinary(SendBatchResponseSchema, bytes))
}

export function writeAnswer(answer: unknown): Uint8Array {
  return toBinary(SendBatchResponseSchema, fromJson(SendBatchResponseSchema, answer as JsonValue))
}
