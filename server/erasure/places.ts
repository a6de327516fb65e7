import { isDeepStrictEqual } from 'node:util'
import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf'
import { SendBatchResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { domainOf } from '../../mail/address.ts'
import { matchingSql } from '../db/matching-sql.ts'
import { MENTIONS } from '../db/mentions.ts'
import { idsOfDay } from '../db/partitions.ts'
import { HISTORY } from '../db/schema.ts'
import { accountIdOf } from '../reputation/simulated.ts'
import { eraseRequest, replaceInRequest } from './request.ts'
import { ERASED_TEXT, mapStrings, type Wanted } from './spellings.ts'

// Every column of the database that may contain an address, and how an erasure changes it. docs/erasure.md names all
// other columns with text, and says why they stay.

/** The columns of a row, by name: texts, parsed JSON, and bytes. */
export type Fields = Record<string, unknown>

/** `list`: texts. `mailbox`: an address, which is compared as a whole. `request`: the JSON of a message's request. */
export type ColumnKind = 'text' | 'list' | 'mailbox' | 'json' | 'request' | 'answer'

/** Puts a value among the parameters of a statement, and returns its name there. */
export type Parameter = (value: string) => string

export interface AddressPlace {
  table: string
  columns: Record<string, ColumnKind>
  /** SQL: the account of a row of `t`. */
  account: string
  /** SQL: which rows of `t` are looked at; all by default. */
  only?: string
  /**
   * SQL: which rows of `t`, a day of history of this name, may mention the address. Indexes find them. Without it every
   * row is read.
   */
  candidates?(wanted: Wanted, day: string, parameter: Parameter): string
  /** Changes more of a row that mentions the address than the address itself, which is replaced in `replaced`. */
  erase?(row: Fields, wanted: Wanted, replaced: Fields): Fields
  /** SQL: another change of a row that mentions the address. */
  set?: string
  /** Columns that an export leaves out, because they are the account's secrets. */
  secrets?: readonly string[]
}

const OWN_ACCOUNT = 't.account_id'
/** Emails to the simulator are counted under another id. */
const COUNTED_ACCOUNT = accountIdOf('t.account_id')

export const PLACES: readonly AddressPlace[] = [
  // Messages come before their recipients, by which they are found.
  {
    table: 'messages',
    columns: { request: 'request', tag: 'text', checks: 'json' },
    account: OWN_ACCOUNT,
    erase: (row, wanted, replaced) => ({ ...replaced, request: eraseRequest(row.request as never, wanted) }),
    // A message of an earlier version has no domain.
    candidates: (wanted, day, parameter) => `
      ${MENTIONS.messages} or domain in (${parameter(domainOf(wanted.address))}, '')
      or id = any((select array(${messagesTo(wanted, day, parameter)}))::uuid[])`,
  },
  {
    table: 'recipients',
    columns: { email: 'mailbox', smtp: 'json' },
    account: OWN_ACCOUNT,
    erase: (row, wanted, replaced) =>
      wanted.isIt(row.email as string) ? { ...replaced, smtp: bareEvidence(row.smtp) } : replaced,
    candidates: ({ address }, _, parameter) =>
      `${matchingSql('email')} = ${parameter(address)} or ${MENTIONS.recipients}`,
  },
  {
    table: 'events',
    columns: { recipient: 'mailbox', metadata: 'json', tag: 'text', detail: 'text', evidence: 'json' },
    account: OWN_ACCOUNT,
    erase: withDetailOf('recipient'),
    candidates: ({ address }, _, parameter) =>
      `${matchingSql('recipient')} = ${parameter(address)} or ${MENTIONS.events}`,
  },
  {
    table: 'attempts',
    columns: { excerpt: 'text', location: 'text' },
    account: OWN_ACCOUNT,
  },
  {
    table: 'feedback',
    columns: { recipient: 'mailbox', detail: 'text', evidence: 'json' },
    account: OWN_ACCOUNT,
    erase: withDetailOf('recipient'),
  },
  {
    table: 'suppressions',
    columns: { email: 'mailbox', detail: 'text', evidence: 'json', replaced: 'json' },
    account: OWN_ACCOUNT,
    // The entry that an import replaced names the person too. The undoing of that import then removes the entry.
    erase: (row, wanted, erased) => ({
      ...withDetailOf('email')(row, wanted, erased),
      ...(wanted.isIt(row.email as string) ? { replaced: null } : {}),
    }),
  },
  { table: 'open_stats', columns: { tag: 'text' }, account: COUNTED_ACCOUNT },
  { table: 'group_stats', columns: { key: 'text' }, account: COUNTED_ACCOUNT, only: `t.grouped_by = 'tag'` },
  { table: 'refusals', columns: { email: 'mailbox' }, account: OWN_ACCOUNT },
  {
    table: 'refused_sends',
    columns: { sender: 'mailbox', recipients: 'list', request_id: 'text' },
    account: OWN_ACCOUNT,
    // It is a hash of the addresses.
    set: `digest = ''`,
  },
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
  { table: 'accounts', columns: { name: 'text' }, account: 't.id' },
  { table: 'api_keys', columns: { name: 'text' }, account: OWN_ACCOUNT, secrets: ['hash'] },
  // What DNS published.
  { table: 'domains', columns: { checks: 'json' }, account: OWN_ACCOUNT },
  {
    table: 'webhook_endpoints',
    columns: { url: 'text', description: 'text', tags: 'list' },
    account: OWN_ACCOUNT,
    secrets: ['secret', 'previous_secret'],
  },
  { table: 'webhook_urls', columns: { url: 'text' }, account: OWN_ACCOUNT },
  {
    table: 'invitations',
    columns: { email: 'mailbox' },
    account: OWN_ACCOUNT,
    // Its link would make a person of the erased form.
    set: 'ended_at = coalesce(t.ended_at, now())',
    secrets: ['token_hash'],
  },
]

/** SQL: the ids of a day's messages to the address, whose recipients may be erased already. */
function messagesTo({ address, erased }: Wanted, day: string, parameter: Parameter): string {
  const { first, end } = idsOfDay(day)
  return `
    select message_id from recipients
    where ${matchingSql('email')} in (${parameter(address)}, ${parameter(erased)}) and message_id >= '${first}' and message_id < '${end}'`
}

export const isHistory = (table: string): boolean => Object.hasOwn(HISTORY, table)

/** The row with the address replaced wherever it occurs. */
function replaced({ columns }: AddressPlace, row: Fields, wanted: Wanted): Fields {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, replacedValue(columns[name], value)]))

  function replacedValue(kind: ColumnKind | undefined, value: unknown): unknown {
    if (kind === 'request') return replaceInRequest(value as never, wanted)
    return mapStrings(value, kind === 'mailbox' ? wanted.replaceInMailbox : wanted.replaceIn)
  }
}

/** The row as an erasure leaves it. */
export function erasedFields(place: AddressPlace, row: Fields, wanted: Wanted): Fields {
  const kept = replaced(place, row, wanted)
  return place.erase?.(row, wanted, kept) ?? kept
}

/** The text of a column's value, as a statement or a file gets it. */
export function storedText(kind: ColumnKind, value: unknown): string | null {
  if (value === null || value === undefined) return null
  switch (kind) {
    case 'list':
    case 'json':
    case 'request':
      return JSON.stringify(value)
    case 'answer':
      return Buffer.from(writeAnswer(value)).toString('hex')
    case 'text':
    case 'mailbox':
      return value as string
  }
}

export function mentions(place: AddressPlace, row: Fields, wanted: Wanted): boolean {
  // The first mention of a text decides.
  const replaceIn = (text: string) => (wanted.isIn(text) ? ERASED_TEXT : text)
  return !isDeepStrictEqual(replaced(place, row, { ...wanted, replaceIn }), row)
}

/** A report or a reply about the address itself goes as a whole: it may name the person in other words. */
function withDetailOf(addressColumn: string): NonNullable<AddressPlace['erase']> {
  return (row, wanted, replaced) => {
    if (!wanted.isIt(row[addressColumn] as string)) return replaced
    const detail = row.detail === null ? null : ERASED_TEXT
    return { ...replaced, detail, evidence: row.evidence === null ? null : withoutWords(row.evidence as Fields) }
  }
}

/** The evidence of the address's own server: hosts and texts may name the person, codes and times do not. */
function bareEvidence(smtp: unknown): unknown {
  if (smtp === null) return null
  const { mx, ip, tried, detail, ...rest } = smtp as Fields
  return withoutWords(rest)
}

/** What a server or a reporter said goes, and how it was read stays. */
function withoutWords({ reply, words, ...rest }: Fields): Fields {
  return reply === undefined ? rest : { ...rest, reply: ERASED_TEXT }
}

/** The response of a batch, as its repeats return it. */
export function readAnswer(bytes: Uint8Array): unknown {
  return toJson(SendBatchResponseSchema, fromBinary(SendBatchResponseSchema, bytes))
}

function writeAnswer(answer: unknown): Uint8Array {
  return toBinary(SendBatchResponseSchema, fromJson(SendBatchResponseSchema, answer as JsonValue))
}
