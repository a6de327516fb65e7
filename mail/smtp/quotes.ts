import { type KnownNames, NAMED, plainWords } from './plain-text.ts'
import { words } from './rules/pattern.ts'

/** Where a reply begins to quote another server. */
const QUOTE =
  /\b(?:(?:said|says|respon(?:se|ded|ds)|repl(?:y|ied)|answer(?:ed)?|returned)\b(?:[^0-9:;.]{0,30}:|[^0-9:;.]{0,30}(?=[45]\d\d[ -]))|got\s?:)|:\s?(?=[45]\d\d[ -])|\b(?:callout|callback|verif\w{1,12})\b[^:;.]{0,80}:/i

/** A sentence about the recipient, in which the other server's words count. */
const ON_RECIPIENT = new RegExp(
  words('recipient, user, mailbox, undeliverable address, rcpt address, empfänger, destinataire, destinatario'),
)
const ON_OUR_RECIPIENT = new RegExp(words(NAMED.recipient))
const ON_SENDER = new RegExp(
  words('sender, verification failed, verify failed, callout, callback, absender, mail from', NAMED.ourAddress),
)

/**
 * The text without what another server is quoted to have said, unless the sentence around the quotation speaks of the
 * recipient: a server that asked ours about our sender quotes `User unknown` as well.
 */
export function withoutQuotes(text: string, names?: KnownNames): string {
  const quote = QUOTE.exec(text)
  if (!quote) return text
  const frame = text.slice(0, quote.index + quote[0].length)
  const around = plainWords(frame, names)
  if (ON_OUR_RECIPIENT.test(around)) return text
  return ON_RECIPIENT.test(around) && !ON_SENDER.test(around) ? text : frame
}
