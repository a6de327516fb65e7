import { CONTENT_JUDGED, LINKS_LISTED, SPAM } from './lexicon.ts'
import { near, numbers, pattern, words } from './pattern.ts'
import { CONTENT_PHASES, type ReplyRule } from './rule.ts'

/** A sentence that judges the message, whatever else the reply speaks of. */
const JUDGED_SPAM = near(
  words('message, mail, email, content, nachricht, messaggio, mensaje, mensagem'),
  words(
    'contains spam, contains a virus, contains virus, contains malware, is spam, as spam',
    'spam or virus, considered spam, considered unsolicited, likely unsolicited',
    'is likely spam, looks like spam, suspicion of spam, infected, spam message rejected, as junk, als spam',
    'comme spam, como spam, come spam, suspected spam, to be spam, contained a virus, contains content',
    'probably spam',
  ),
  60,
)
const CONTENT_REFUSED = words(
  'potential security issue, security threat',
  'suspicious message, banned',
  'file type, executable*, macro',
  'attachment, attachments, attached file*, message filtered, mail filtered, email filtered, filter, filters, content, link in',
  'links in, url in, urls in, contains a url, contains a link, contains url, contains links, contenu',
  'inhalt, contenido, contenuto, conteúdo, unzulässige*, anhang, anhänge, pièce* jointe*, adjunto*',
  'allegato, allegati, anexo*, bijlage*',
)
const TOO_LARGE = words(
  'too large, too big, message too long, mail too long, email too long, larger than, size exceeds',
  'size exceeded, exceeds maximum size, exceeded maximum size, exceeds size, exceeds the size',
  'exceeds local size, message size, mailsize, mail size, message length',
  'exceeds the maximum, size limit for messages, size limit exceeded for message',
  'file size, attachment size, zu groß, trop volumineux, trop gros, trop grand',
  'demasiado grande, troppo grande, muito grande, te groot, taille du message, слишком больш',
  'message exceeds, mail exceeds, size limitation, size of message, size of the message, größe der nachricht',
  'nachrichtengröße, maximale größe, limite de taille, dépasse la taille, tamaño del mensaje, límite de tamaño',
  'excede el tamaño, tamaño máximo, dimensione del messaggio, dimensione massima, dimensioni massime',
  'supera la dimensione, limite di dimensione, tamanho da mensagem, limite de tamanho, excede o tamanho',
  'tamanho máximo, grootte van het bericht, berichtgrootte, maximale grootte, 过大, 太大',
)
const FORM = words(
  'invalid content, content conversion, content transfer, content encoding, header syntax, addresses in from, bad header, bad headers, invalid header*, missing header*, malformed header*, malformed message',
  'rfc 5322, rfc 2822, rfc5322, rfc2822, rfc compliant, bare lf, bare newline, line too long',
  'lines too long, mime, message id, messageid header, date header, duplicate header*, too many hops',
  'hop count, mail loop, message loop, loop detected, loops back, routing loop, mail loops, forwarding loop, looping',
  'smtputf8, eight bit, 8bit, 8 bit, non ascii, charset',
)

/** A list of links in messages is none of senders. */
export const LINK_RULES: readonly ReplyRule[] = [
  { name: 'spam', subject: 'message', phases: CONTENT_PHASES, text: pattern(LINKS_LISTED), reason: 'spam_blocked' },
]

/** Judgements on the message that name it as their object. They are asked before the rows about the sender's names. */
export const JUDGED_RULES: readonly ReplyRule[] = [
  {
    name: 'spam',
    subject: 'message',
    phases: CONTENT_PHASES,
    text: pattern(JUDGED_SPAM),
    reason: 'spam_blocked',
  },
  {
    name: 'content',
    subject: 'message',
    phases: CONTENT_PHASES,
    text: pattern(CONTENT_JUDGED),
    reason: 'spam_blocked',
  },
]

/** Asked before the rows about space: a size is that of a mailbox, too. */
export const SIZE_STATUS_RULES: readonly ReplyRule[] = [
  { name: 'size', subject: 'message', status: numbers('5.(?:2.3|3.4)'), reason: 'policy_block' },
]

/** Replies about the message: what it contains, its size and its form. At RCPT no server has seen the content. */
export const MESSAGE_RULES: readonly ReplyRule[] = [
  { name: 'size', subject: 'message', text: pattern(TOO_LARGE), reason: 'policy_block' },
  {
    name: 'spam',
    subject: 'message',
    phases: CONTENT_PHASES,
    text: pattern(SPAM),
    reason: 'spam_blocked',
  },
  { name: 'form', subject: 'message', text: pattern(FORM), reason: 'policy_block' },
]

/** Asked after the rows about the mailbox: a content is what a mailbox does not take, too. */
export const CONTENT_RULES: readonly ReplyRule[] = [
  {
    name: 'content',
    subject: 'message',
    phases: CONTENT_PHASES,
    text: pattern(CONTENT_REFUSED),
    reason: 'spam_blocked',
  },
  { name: 'form', subject: 'message', phases: CONTENT_PHASES, status: numbers('5.6.*'), reason: 'policy_block' },
]
