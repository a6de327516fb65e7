import { type LabelledReply, NAMES, replyOf } from '../../../../bench/verdicts/labelled.ts'
import type { Reply } from '../../../../mail/smtp/attempt.ts'
import { toReply } from '../../../../mail/smtp/reply.ts'
import type { Place } from './read.ts'

/** The same reply in another spelling, or with something that says nothing. */
interface Spelling {
  name: string
  /** The text of any reply can be spelled so. */
  isOfAnyReply?: true
  /** undefined where the reply cannot be spelled so. */
  change(labelled: LabelledReply): Place | undefined
}

const text = (name: string, change: (text: string, reply: Reply) => string): Spelling => ({
  name,
  isOfAnyReply: true,
  change: ({ phase, reply, mx }) => ({ phase, mx, reply: { ...reply, text: change(reply.text, reply) } }),
})

/** Breaks the text into lines of about `length` characters, as a server does. */
function broken(length: number): Spelling {
  return {
    name: `lines of ${length} characters`,
    change({ phase, reply, mx }) {
      const lines = reply.text.match(new RegExp(`\\S.{0,${length}}(?=\\s|$)|\\S+`, 'g')) ?? ['']
      const status = reply.enhanced ? `${reply.enhanced} ` : ''
      return {
        phase,
        mx,
        reply: toReply({ code: reply.code, lines: lines.map((line) => status + line) }),
      }
    },
  }
}

function otherRecipient(recipient: string): Spelling {
  const domain = recipient.slice(recipient.lastIndexOf('@') + 1)
  return {
    name: `to ${recipient}`,
    change({ phase, mx, line }) {
      const named = line.replace(/ann@example\.net|(?<![\w.@-])example\.net(?![\w.-])/g, (name) =>
        name.includes('@') ? recipient : domain,
      )
      // Some replies name the local part alone, or spell the domain in their own way.
      if (named === line || /\bann\b/i.test(named) || /example\.net/.test(named)) return undefined
      return { phase, mx, reply: replyOf(named), names: { ...NAMES, recipient } }
    },
  }
}

/** A name, or words that only their capitals divide: `RecipientNotFound`. */
const IS_NAME_OR_JOINED = /[@/.:=]|[a-z][A-Z]/

const ENTITIES: Record<string, string> = { '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '&': '&amp;' }

export const SPELLINGS: readonly Spelling[] = [
  text('a link behind it', (said) => `${said} https://support.example.org/kb/17?a=1&b=2#x`),
  text('a link before it', (said) => `https://support.example.org/ ${said}`),
  text('a link behind a colon', (said) => `${said}: http://help.example.org/550/5.1.1`),
  text('an id behind it', (said) => `${said} [a1b2c3d4]`),
  text('an id before it', (said) => `[AB12] ${said}`),
  text('an id in brackets', (said) => `${said} (AS780090)`),
  text('an id of a session', (said) => `${said} ffacd0b85a97d-4f1a2b3c4d5e6f`),
  text('a date behind it', (said) => `${said} Sat, 21 Nov 2026 10:00:00 +0000`),
  text('a time stamp behind it', (said) => `${said} 2026-11-21T10:00:00.123Z`),
  text('a date before it', (said) => `2026-11-21 10:00:00 ${said}`),
  text('entities', (said) => said.replace(/[<>"'&]/g, (character) => ENTITIES[character]!)),
  text('numeric entities', (said) => said.replace(/[<>"'é]/g, (character) => `&#${character.codePointAt(0)};`)),
  text('capitals', (said) =>
    said.replace(/[^\s@<>]{1,40}(?![^\s<>]*@)/g, (word) => (IS_NAME_OR_JOINED.test(word) ? word : word.toUpperCase())),
  ),
  text('another host behind it', (said) => `${said} - mx7.mail.example.com`),
  text('another host before it', (said) => `mx7.mail.example.com: ${said}`),
  text('another address behind it', (said) => `${said} (198.51.100.77)`),
  text('the command behind it', (said) => `${said} (in reply to RCPT TO command)`),
  // Beside an address alone it would be the only word.
  text('an apology before it', (said) => said.replace(/^(?=[a-z]+ )/i, 'Sorry, ')),
  text('a shout', (said) => `${said}!`),
  text('no-break spaces', (said) => said.replace(/(?<=[a-z]) (?=[a-z])/g, '\u00a0')),
  text('letters in two parts', (said) => said.normalize('NFD')),
  text('no accents', (said) => said.normalize('NFD').replace(/\p{Mn}/gu, '')),
  broken(30),
  broken(60),
  ...[
    ...['sales.team@shop.example', 'spam@example.com', 'user.unknown@example.org', 'mailbox-full@relay.example'],
    ...['5.1.1@dns.blocked.example', "o'brien@example.org", '"a b"@example.org', 'ann{x}=y@example.org'],
    ...['pelé@example.org', 'hello@sender.example', 'Ann@Example.Photography'],
  ].map(otherRecipient),
]
