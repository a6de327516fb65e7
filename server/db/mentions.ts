/**
 * SQL: whether a row has, beside the addresses that it was sent from and to, a text that may hold one: as it is, as
 * part of a URL, or as part of a URL within a URL. A local part is such a text, too:
 * `"ann@example.com"@gateway.example`.
 *
 * Partial indexes of history list these rows, so that an erasure finds an address without reading all others
 * (docs/adr/0110-erasure.md).
 */
export const MENTIONS = {
  // `from` and `to` have one `@` each. A message with more of them has several recipients, a `reply_to`, or an address
  // in a subject, a field, metadata, a tag or a body.
  messages: whereIn(`request::text || coalesce(tag, '') || coalesce(checks::text, '')`, '%@%@%@%'),
  recipients: whereIn(`email || coalesce(smtp::text, '')`, '%@%@%'),
  events: whereIn(`recipient || coalesce(metadata::text, '') || coalesce(tag, '') || coalesce(detail, '')`, '%@%@%'),
} as const

function whereIn(text: string, pattern: string): string {
  const has = (part: string) => `strpos(${text}, '${part}') > 0`
  // Few texts have a percent sign, so most are searched for nothing more.
  return `(${text}) like '${pattern}' or ${has('%')} and (${has('%40')} or ${has('%2540')})`
}
