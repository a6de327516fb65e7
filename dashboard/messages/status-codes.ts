/** What a code in a server's reply means, and where that is written. */
export interface CodeMeaning {
  code: string
  meaning: string
  source: string
  url: string
}

interface CodeRow {
  meaning: string
  rfc: number
  section: string
}

const rfc3463 = (section: string, meaning: string): CodeRow => ({ meaning, rfc: 3463, section })

/** Enhanced status codes without their first digit, by the register that RFC 5248 began. */
const DETAILS: Record<string, CodeRow> = {
  '0.0': rfc3463('3.1', 'no further detail'),
  '1.0': rfc3463('3.2', 'something about an address'),
  '1.1': rfc3463('3.2', 'the mailbox does not exist'),
  '1.2': rfc3463('3.2', 'the domain does not exist or takes no mail'),
  '1.3': rfc3463('3.2', 'the address is not well formed'),
  '1.4': rfc3463('3.2', 'the address matches several mailboxes'),
  '1.5': rfc3463('3.2', 'the address is valid'),
  '1.6': rfc3463('3.2', 'the mailbox has moved'),
  '1.7': rfc3463('3.2', "the sender's address is not well formed"),
  '1.8': rfc3463('3.2', "the sender's domain does not exist or takes no mail"),
  '1.10': { meaning: 'the domain takes no mail (null MX)', rfc: 7505, section: '4' },
  '2.0': rfc3463('3.3', 'something about the mailbox'),
  '2.1': rfc3463('3.3', 'the mailbox is disabled'),
  '2.2': rfc3463('3.3', 'the mailbox is full'),
  '2.3': rfc3463('3.3', 'the message is longer than the mailbox accepts'),
  '2.4': rfc3463('3.3', 'the mailing list could not be expanded'),
  '3.0': rfc3463('3.4', "something about the recipient's mail system"),
  '3.1': rfc3463('3.4', "the mail system's storage is full"),
  '3.2': rfc3463('3.4', 'the system accepts no messages now'),
  '3.3': rfc3463('3.4', 'the system lacks a feature that the message needs'),
  '3.4': rfc3463('3.4', 'the message is too large for the system'),
  '3.5': rfc3463('3.4', 'the system is not configured correctly'),
  '4.0': rfc3463('3.5', 'something about the network or routing'),
  '4.1': rfc3463('3.5', 'the next server did not answer'),
  '4.2': rfc3463('3.5', 'the connection broke'),
  '4.3': rfc3463('3.5', 'a directory or DNS look-up of the server failed'),
  '4.4': rfc3463('3.5', 'the server knows no way to the recipient'),
  '4.5': rfc3463('3.5', 'the server is overloaded'),
  '4.6': rfc3463('3.5', 'mail would go round in a loop'),
  '4.7': rfc3463('3.5', 'the message was on its way for too long'),
  '5.0': rfc3463('3.6', 'something about the protocol'),
  '5.1': rfc3463('3.6', 'the command is not allowed now'),
  '5.2': rfc3463('3.6', 'the command is not understood'),
  '5.3': rfc3463('3.6', 'the message has too many recipients'),
  '5.4': rfc3463('3.6', 'the arguments of a command are not valid'),
  '6.0': rfc3463('3.7', 'something about the content'),
  '6.1': rfc3463('3.7', 'the media type is not supported'),
  '6.3': rfc3463('3.7', 'the content would have to be converted, and cannot be'),
  '7.0': rfc3463('3.8', 'something about security or policy'),
  '7.1': rfc3463('3.8', 'the sender or the message is not allowed'),
  '7.2': rfc3463('3.8', 'the sender may not write to the mailing list'),
  '7.5': rfc3463('3.8', 'a cryptographic function failed'),
  '7.7': rfc3463('3.8', 'the message was changed on its way'),
  '7.20': { meaning: 'no DKIM signature passed', rfc: 7372, section: '3.1' },
  '7.21': { meaning: 'no acceptable DKIM signature was found', rfc: 7372, section: '3.1' },
  '7.22': { meaning: 'no DKIM signature is from the domain in From', rfc: 7372, section: '3.1' },
  '7.23': { meaning: 'SPF failed', rfc: 7372, section: '3.2' },
  '7.24': { meaning: 'SPF could not be evaluated', rfc: 7372, section: '3.2' },
  '7.25': { meaning: "the reverse DNS of the sender's address is wrong", rfc: 7372, section: '3.3' },
  '7.26': { meaning: 'several ways of authentication failed', rfc: 7372, section: '3.4' },
  '7.27': { meaning: "the sender's domain takes no mail (null MX)", rfc: 7505, section: '4' },
}

const CLASSES: Record<string, string> = { 2: 'Accepted', 4: 'Not now', 5: 'Refused for good' }

/** Reply codes of servers that send no enhanced one (RFC 5321 4.2.3). */
const REPLIES: Record<string, string> = {
  250: 'the command was carried out',
  421: 'the server closes the connection, for example because it is busy',
  450: 'the mailbox is not available now: it is busy, or the server delays new senders',
  451: 'the server had an error of its own',
  452: 'the server or the mailbox lacks space',
  455: 'the server cannot handle the parameters now',
  550: 'the mailbox is not available, or policy forbids it',
  551: 'the mailbox is elsewhere',
  552: 'the mailbox or the message is over a limit',
  553: 'the name of the mailbox is not allowed',
  554: 'the transaction failed, or the server takes no mail here',
  555: 'the parameters are not known',
}

/**
 * What the code of a reply means; undefined when no document says so. The enhanced code is more exact than the plain
 * one, which may have any meaning.
 */
export function meaningOf(code: number | undefined, enhanced: string | undefined): CodeMeaning | undefined {
  const [, subject, detail] = /^[245]\.(\d{1,3})\.(\d{1,3})$/.exec(enhanced ?? '') ?? []
  const row = DETAILS[`${subject}.${detail}`] ?? (subject === '0' ? undefined : DETAILS[`${subject}.0`])
  if (enhanced && row) return shownMeaning(enhanced, row)
  const meaning = code === undefined ? undefined : REPLIES[code]
  return meaning === undefined ? undefined : shownMeaning(String(code), { meaning, rfc: 5321, section: '4.2.3' })
}

function shownMeaning(code: string, { meaning, rfc, section }: CodeRow): CodeMeaning {
  const word = CLASSES[code.charAt(0)]
  const url = `https://www.rfc-editor.org/rfc/rfc${rfc}#section-${section}`
  return { code, meaning: `${word}: ${meaning}.`, source: `RFC ${rfc}, ${section}`, url }
}
