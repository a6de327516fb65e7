// Header fields as bytes on the wire: folding (RFC 5322 2.2.3), encoded words (RFC 2047), parameters (RFC 2231).
// No control character gets through for any input: everything but printable ASCII is encoded, apart from addresses.

import type { Mailbox } from '../address.ts'
import { quote } from '../local-part.ts'

/** Characters without CRLF: RFC 5322 2.1.1 asks for 78, RFC 2047 2 for 76 in lines with encoded words. */
const LINE = 76
/** An encoded word is at most 75 characters (RFC 2047 2), of which `=?UTF-8?B?` and `?=` take 12. */
const ENCODED_WORD = 75
const ENCODED_WORD_FRAME = 12

/** A time as Date and Received have it (RFC 5322 3.3). */
export const rfcDate = (date: Date): string => date.toUTCString().replace('GMT', '+0000')

/**
 * `Name: body`, folded before single spaces, with its CRLF. No line is blank, and unfolding restores the body.
 * @param body printable ASCII without spaces at its ends
 */
export function field(name: string, body: string): string {
  if (/[^ -~]/.test(body)) throw new Error('A header field must be printable ASCII')
  return folded(name, body)
}

function folded(name: string, body: string): string {
  if (!/^[!-9;-~]+$/.test(name)) throw new Error('The name of a header field must be printable ASCII')
  const lines: string[] = []
  let line = `${name}:`
  const [first = '', ...rest] = body.split(FOLD)
  if (first !== '') line += ` ${first}`
  for (const unit of rest) {
    if (line.length + unit.length > LINE) {
      lines.push(line)
      line = unit
    } else line += unit
  }
  lines.push(line)
  return `${lines.join('\r\n')}\r\n`
}

/** Readers may show a run of blanks at a fold as one, so lines are folded at single ones. */
const FOLD = /(?<=[^ ])(?= [^ ])/

/** A field of text for people: the reader sees exactly `value`, even when it looks like an encoded word. */
export function textField(name: string, value: string): string {
  return field(name, isPlain(value) && !value.includes('=?') ? value : encodedWords(value, name.length + 2))
}

/** A field of the caller. Its ASCII stays unchanged because it may have its own grammar. */
export function customField(name: string, value: string): string {
  const trimmed = value.trim()
  return field(name, isPlain(trimmed) ? trimmed : encodedWords(trimmed, name.length + 2))
}

/**
 * A field such as From, To and Reply-To. An address with letters beyond ASCII is written as it is (RFC 6532), because
 * it has no other form. Names stay encoded words, which every reader knows.
 */
export function addressField(name: string, mailboxes: readonly Mailbox[]): string {
  const body = mailboxes.map((mailbox) => formatMailbox(mailbox, name.length + 2)).join(', ')
  if (/\p{Cc}/u.test(body)) throw new Error('A header field must not hold a control character')
  return folded(name, body)
}

function formatMailbox({ name, address }: Mailbox, column: number): string {
  if (name === undefined) return address
  return `${formatName(name, column)} <${address}>`
}

function formatName(name: string, column: number): string {
  if (!isPlain(name) || name.includes('=?') || name.length > LINE) return encodedWords(name, column)
  return /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?: [A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/.test(name) ? name : quote(name)
}

/**
 * True for text that needs no encoding. Long runs need it: folding needs spaces, and no line may exceed 998 characters.
 */
function isPlain(text: string): boolean {
  if (!/^(?:[!-~](?:[ -~]*[!-~])?)?$/.test(text) || text.includes(' '.repeat(60))) return false
  return text.split(FOLD).every((run) => run.length < 900)
}

/**
 * RFC 2047 encoded words, separated by spaces that readers remove. The encoding is Q or B, whichever is shorter; no
 * character is split. Q uses only the characters that are allowed inside a display name.
 * @param column of the first word
 */
function encodedWords(text: string, column: number): string {
  const chars = [...text.toWellFormed()]
  const inB = (char: string) => Buffer.byteLength(char)
  const inQ = (char: string) => (Q_PLAIN.test(char) ? 1 : inB(char) * 3)
  const totalOf = (cost: typeof inB) => chars.reduce((total, char) => total + cost(char), 0)
  const isQ = totalOf(inQ) <= (totalOf(inB) / 3) * 4
  const capacity = (columns: number) => (isQ ? columns : Math.floor(columns / 4) * 3)
  // A very long field name leaves no room on its line: the first word then makes the line longer than recommended.
  let room = capacity(Math.max(LINE - ENCODED_WORD_FRAME - column, 16))
  const words = ['']
  for (const char of chars) {
    const cost = isQ ? inQ(char) : inB(char)
    if (cost > room) {
      words.push('')
      room = capacity(ENCODED_WORD - ENCODED_WORD_FRAME)
    }
    words[words.length - 1] += char
    room -= cost
  }
  return words.map((word) => (isQ ? `=?UTF-8?Q?${encodeQ(word)}?=` : `=?UTF-8?B?${encodeB(word)}?=`)).join(' ')
}

const Q_PLAIN = /^[A-Za-z0-9!*+\-/ ]$/

function encodeQ(text: string): string {
  const octets = Buffer.from(text).toString('latin1')
  return octets.replace(/[^A-Za-z0-9!*+\-/ ]/g, escapeWith('=')).replaceAll(' ', '_')
}

function encodeB(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** Writes a character that stands for a byte as `=E2` or `%E2`. */
function escapeWith(sign: string): (char: string) => string {
  return (char) => sign + char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')
}

/**
 * `; name="value"` on its own line. A value beyond ASCII, and one that a reader may take for an encoded word, has
 * the form of RFC 2231, in pieces when it is long.
 * There is no plain form beside it, because Python's `email` and other readers would show the plain one.
 */
export function parameter(name: string, value: string): string {
  if (/^[ -~]*$/.test(value) && !value.includes('=?')) return `;\r\n ${name}=${quote(value)}`
  const encoded = Buffer.from(value)
    .toString('latin1')
    .replace(/[^A-Za-z0-9!#$&+\-.^_`|~]/g, escapeWith('%'))
  // A cut never splits `%E2`.
  const pieces = `UTF-8''${encoded}`.match(/.{1,56}(?<!%.?)/g) ?? []
  if (pieces.length === 1) return `;\r\n ${name}*=${pieces[0]}`
  return pieces.map((piece, index) => `;\r\n ${name}*${index}*=${piece}`).join('')
}
