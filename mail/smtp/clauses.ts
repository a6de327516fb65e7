import { IS_NAME, type KnownNames, localOf, NAMED, plain, plainText } from './plain-text.ts'
import { ARTICLES, HELP, IF, POLITE, SAYS_NOTHING, WITHIN } from './rules/harmless.ts'
import { words } from './rules/pattern.ts'
import { offsetOf, replaceTraced, type TracedText } from './traced-text.ts'

/** One sentence of a reply, in plain text. Each is read by itself. */
export interface Clause {
  text: string
  /** It only says where help is. */
  isHelp: boolean
  /** Another server is quoted, and nothing says that it speaks of the recipient. */
  isForeign: boolean
  /** The words that are ids: those of tokens with a digit, and the recipient's local part. */
  ids: ReadonlySet<string>
  /** Tokens in brackets: ids where nothing else is said, and perhaps a reason beside words. */
  tags: ReadonlySet<string>
  /** What ids and tags say, without numbers: `ldap timeout` of `[ldap-timeout-110]`. */
  inIds: string
  /** The passage of the reply, as it came. */
  original(start: number, end: number): string
}

/**
 * The end of a sentence, and the blank before a word that begins one, because not every server writes a period. But a
 * user `you are trying to contact` is no help, and neither is one that is not `in the contact list`.
 */
const BOUNDARY = new RegExp(
  `[.;!?。！？]+|(?<!\\b(?:you|can|not|for|with|from|pour|para|muchas|muito|neem|${WITHIN}|${ARTICLES})|${words(POLITE)},?)\\s(?=${HELP})`,
  'g',
)
/** A host, an id or an apology that servers write before any sentence. */
const LABEL = `(?:${NAMED.host}|sorry|[a-z]{0,8}\\d[a-z0-9]{0,30})[\\s,:]+`
const IS_HELP = new RegExp(`^[\\s,:]*(?:${LABEL}){0,6}(?:${HELP}|${IF})`)
/** Where a reply begins to quote another server. */
const QUOTE =
  /\b(?:(?:said|says|respon(?:se|ded|ds)|repl(?:y|ied)|answer(?:ed)?|returned)\b(?:[^\d:;.]{0,30}:(?=\s*\S)|[^\d:;.]{0,30}(?=[45]\d\d ))|got\s?:)|:\s?(?=[45]\d\d )|\b(?:callout|callback|verif[a-z]{1,12})\b[^:;.]{0,80}:/
/** A sentence about the recipient, in which the other server's words count. */
const ON_RECIPIENT = new RegExp(
  words(
    'recipient, recipients, user, mailbox, undeliverable address, rcpt address, empfänger, destinataire, destinatario',
    NAMED.recipient,
  ),
)
const ON_SENDER = new RegExp(
  words('sender, verification failed, verify failed, callout, callback, absender, mail from', NAMED.ourAddress),
)

/** The sentences of a reply. */
export function clausesOf(reply: string, names: KnownNames = {}): Clause[] {
  const plainReply = replaceTraced(plainText(reply, names), SAYS_NOTHING, () => ' ')
  const { text } = plainReply
  const local = localOf(names.recipient ?? '')
  const clauses: Clause[] = []
  let start = 0
  const add = (end: number) => {
    if (end > start) clauses.push(clauseOf(reply, plainReply, { start, end, local }))
    start = end
  }
  for (const boundary of text.matchAll(BOUNDARY)) {
    // A number such as 5.1.1 has no end of a sentence in it.
    const isInNumber = /\d\.\d/.test(text.slice(boundary.index - 1, boundary.index + 2))
    if (!isInNumber) add(boundary.index)
  }
  add(text.length)
  return clauses
}

export const saysWhereHelpIs = (reply: string): boolean =>
  clausesOf(reply).every(({ isHelp, text }) => isHelp || text.trim() === '')

function clauseOf(
  reply: string,
  plainReply: TracedText,
  { start, end, local }: { start: number; end: number; local: string },
): Clause {
  const text = plainReply.text.slice(start, end).replace(/^[.;!?。！？]+/, (ended) => ' '.repeat(ended.length))
  const original = (from: number, to: number) =>
    reply.slice(offsetOf(plainReply, start + from), offsetOf(plainReply, start + to)).trim()
  let ids: Set<string> | undefined
  let tags: Set<string> | undefined
  return {
    text,
    isHelp: IS_HELP.test(text),
    isForeign: isForeign(text),
    get ids() {
      ids ??= idsOf(original(0, text.length), local)
      return ids
    },
    get tags() {
      tags ??= wordsOf(original(0, text.length).match(BRACKETED) ?? [])
      return tags
    },
    get inIds() {
      const own = wordsOf([local])
      const isAside = (token: string) => this.ids.has(token) || this.tags.has(token)
      return tokensOf(text)
        .filter((token) => isAside(token) && !own.has(token) && !IS_NAME.has(token))
        .join(' ')
        .replace(/\d+/g, ' ')
    },
    original,
  }
}

function isForeign(text: string): boolean {
  const quote = QUOTE.exec(text)
  if (!quote) return false
  const frame = text.slice(0, quote.index + quote[0].length)
  return !ON_RECIPIENT.test(frame) || (ON_SENDER.test(frame) && !frame.includes(NAMED.recipient))
}

export const tokensOf = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? []

const BRACKETED = /[[(]\s{0,2}[^\s()[\]]{1,80}\s{0,2}[\])]/g
const TOKEN = /[^\s()[\]<>,;:='"]+/g

function idsOf(original: string, local: string): Set<string> {
  const numbered = (original.match(TOKEN) ?? []).filter((token) => /\d/.test(token))
  // While the recipient is not known, any address may be that of the recipient.
  return wordsOf([...numbered, local || NAMED.address])
}

const wordsOf = (ids: readonly string[]) => new Set(ids.flatMap((id) => plain(id).split(/[\s.,:;!?]+/)))
