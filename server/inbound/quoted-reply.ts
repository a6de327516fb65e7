// The reply of a server that a bounce quotes, and what the reporter says around it: which command it was to, and
// whether it is a reply to our message at all.

import { clausesOf } from '../../mail/smtp/clauses.ts'
import { type KnownNames, NAMED, plainText } from '../../mail/smtp/plain-text.ts'
import { pattern } from '../../mail/smtp/rules/pattern.ts'
import { SENDER } from '../../mail/smtp/rules/sender.ts'

/**
 * A reply code, at the start of a line or after its server, as in `mx.example.com: 550 ...`, `[192.0.2.1] 550 ...`,
 * `#550 ...`, `550: ...` and `returned '550 ...`.
 */
const REPLY_CODE =
  /(?:^|[:;,\]<>'"([#] ?|\b(?:said|returned|error|problem|code|reason|reply|with|was) )([45](?:[0-5]\d|71))(?=:?[ -](?:#?\d\.\d|[^\s\d]|\d{1,2} \p{L}|(?:\d{1,3}\.){3}\d)|$)/u
const CODE_LENGTH = 3

/**
 * The SMTP reply that a bounce quotes, from its code up to an empty line or a line with another code. Bounces join or
 * fold the lines of a reply in their own way, so a new line of the reply begins at each line break, and wherever the
 * code is repeated.
 */
export function quotedReply(lines: readonly string[]): { code: number; lines: string[] } | undefined {
  const i = lines.findIndex(quotesReply)
  const line = lines[i]
  if (line === undefined) return undefined
  const from = beforeReply(line).length
  const code = line.slice(from, from + CODE_LENGTH)
  const rest = lines.slice(i + 1)
  const next = rest.findIndex((each) => each === '' || beginsOtherReply(each, code))
  const text = [line.slice(from), ...(next < 0 ? rest : rest.slice(0, next))].join('\n')
  // Some reporters put the words behind the code in quotes, or after a colon.
  const unquoted = text.replace(/^(\d{3})(?::[ -]|[ -]['"])/, '$1 ')
  return { code: Number(code), lines: unquoted.split(new RegExp(`\\n|\\s(?=${code}[ -])`)) }
}

function beginsOtherReply(line: string, code: string): boolean {
  const other = /^[45](?:[0-5]\d|71)(?=[ -])/.exec(line)?.[0]
  return other !== undefined && other !== code
}

export const quotesReply = (line: string): boolean => REPLY_CODE.test(line)

/** What the reporter says on a line, up to the reply that it quotes. */
export function beforeReply(line: string): string {
  const match = REPLY_CODE.exec(line)
  return match ? line.slice(0, match.index + match[0].length - CODE_LENGTH) : line
}

/** The commands in the words of all reporters. The group has those that come with a recipient, or later. */
const COMMANDS =
  '(?:(rcpt\\b|does not like recipient|end of data|data command|(?-i:DATA)\\b)|mail from ?:\\s?<|(?-i:MAIL F(?:ROM|rom))\\b|mail (?:from )?command|(?:eh|he|lh)lo\\b|starttls\\b|auth (?:command|login|plain)|initial connection|in greeting|greeting failed|my name was rejected|refused to talk to me|sender (?:was )?rejected)'
const COMMAND = new RegExp(`\\b${COMMANDS}`, 'gi')
/** What some reporters write behind the reply: the command that it was to. */
const REPLY_TO = new RegExp(
  `\\b(?:after|in (?:reply|response) to|following|responding to) (?:the |pipelined )*(?:${COMMANDS}|mail from\\b|connect(?:ion)?\\b)`,
  'gi',
)

/**
 * Whether these lines say that a reply came before the server saw a recipient, so that it is about the sender. The last
 * command that the reporter names decides; undefined when it names none.
 */
export function isBeforeRecipient(lines: readonly string[]): boolean | undefined {
  const named = [lines.map(beforeReply).join(' ').matchAll(COMMAND), lines.join(' ').matchAll(REPLY_TO)]
  const last = named.map((matches) => [...matches].at(-1)).filter((match) => match !== undefined)
  return last.length === 0 ? undefined : last.some(([, withRecipient]) => withRecipient === undefined)
}

/** A program of the reporter, whose output it quotes like a reply, or a member of the recipient. */
const NO_SERVER = /\bcommand (?:output|died)\b|(?:^|["'\s])\|\s?["'/]|\bmember of\b|\bforwarding\b/i

export const namesNoServer = (line: string): boolean => NO_SERVER.test(line)

/** Whether the words before the quoted reply say that it is of no server of the recipient. */
export const isOfOther = (lines: readonly string[]): boolean =>
  lines.slice(0, lines.findIndex(quotesReply) + 1).some(namesNoServer)

const NAMED_BEFORE = new RegExp(Object.values(NAMED).join('|'), 'g')
const SENDER_WORDS = pattern(SENDER)

/**
 * Whether the words before the reply are about us: they name us last, or those that introduce it speak of the sender.
 * Our own server may have said it, or it is about our return path.
 */
export function isAboutUs(lines: readonly string[], names: KnownNames): boolean {
  const at = lines.findIndex(quotesReply)
  const label = beforeReply(lines[at] ?? '')
  const before = lines.slice(lines.lastIndexOf('', at) + 1, at)
  const named = plainText([...before, label].join(' '), names).text.match(NAMED_BEFORE) ?? []
  const last = named.filter((name) => name !== NAMED.ip).at(-1)
  const introduction = label.trim() === '' ? before.at(-1) : label
  const isOfSender = clausesOf(introduction ?? '', names).some(({ text }) => SENDER_WORDS.test(text))
  return isOfSender || last === NAMED.us || last === NAMED.ourAddress
}

/** How reporters introduce what a server said. */
const SERVER =
  /serv|сервер|serwer|host|remote|respon|respu|risp|answer|repl|said|says|return|receiv|error|reason|melding/i

/**
 * Whether the quoted reply may be an example, or what our message says: in a paragraph that names no address, beside
 * another reply or behind words that introduce no server.
 */
export function mayBeExample(lines: readonly string[]): boolean {
  const at = lines.findIndex(quotesReply)
  const end = lines.indexOf('', at)
  const paragraph = lines.slice(lines.lastIndexOf('', at) + 1, end < 0 ? undefined : end)
  if (at < 0 || paragraph.some((line) => beforeReply(line).includes('@'))) return false
  const label = beforeReply(lines[at]!)
  const codes = new Set(paragraph.flatMap((line) => REPLY_CODE.exec(line)?.[1] ?? []))
  return codes.size > 1 || (/\p{L}/u.test(label) && !SERVER.test(label))
}
