import type { StoredRequest } from '../db/json-columns.ts'
import { ERASED_TEXT, mapStrings, type Wanted } from './spellings.ts'

const MAILBOXES = ['from', 'to', 'cc', 'bcc']

/** The stored request of a message with the address replaced wherever it occurs. */
export function replaceInRequest(request: StoredRequest, wanted: Wanted): StoredRequest {
  const fields = Object.entries(request).map(([field, value]) => {
    if (field === 'reply_to') return [field, replaceInMailboxes(value, wanted)]
    return [field, mapStrings(value, MAILBOXES.includes(field) ? wanted.replaceInMailbox : wanted.replaceIn)]
  })
  return Object.fromEntries(fields)
}

/**
 * The stored request of a message without the address. Of a message to the address, the texts go as a whole: subject,
 * contents, values of header fields and file names, whoever else received it. Elsewhere the address alone is replaced.
 */
export function eraseRequest(request: StoredRequest, wanted: Wanted): StoredRequest {
  const isTo = [...request.to, ...(request.cc ?? []), ...(request.bcc ?? [])].some(wanted.isIt)
  const replaced = replaceInRequest(request, wanted)
  if (!isTo) return replaced
  const { html, text, ...rest } = replaced
  return {
    ...rest,
    subject: ERASED_TEXT,
    headers: replaced.headers.map(([name]) => [name, ERASED_TEXT]),
    attachments: replaced.attachments.map((file) => ({ ...file, filename: ERASED_TEXT })),
  }
}

function replaceInMailboxes(text: string, wanted: Wanted): string {
  const mailboxes = atCommas(text)
  const replaced = mailboxes.map(wanted.replaceInMailbox)
  return replaced.every((one, i) => one === mailboxes[i]) ? text : replaced.join(', ')
}

/** The pieces between the commas that are outside of quotes. */
function atCommas(text: string): string[] {
  const pieces: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted
    if (text[at] !== ',' || isQuoted) continue
    pieces.push(text.slice(start, at))
    start = at + 1
  }
  return [...pieces, text.slice(start)].map((piece, i) => (i === 0 ? piece : piece.trimStart()))
}
