// The laws of reading a reply. Each is a set of cases that are numbered, so that a test can draw some of them and a
// longer run can walk them all.

import { type LabelledReply, labelledReplies, NAMES, REPLIES } from '../../../../bench/verdicts/labelled.ts'
import { decidingSentence } from '../../../../mail/smtp/classify.ts'
import { toReply } from '../../../../mail/smtp/reply.ts'
import { NOUNS, UNKNOWN_WORDS } from '../../../../mail/smtp/rules/lexicon.ts'
import { phrases } from '../../../../mail/smtp/rules/pattern.ts'
import { diagnose } from '../../../../server/inbound/diagnosis.ts'
import { FRAMES } from './frames.ts'
import { GIBBERISH } from './gibberish.ts'
import { HARMLESS } from './harmless.ts'
import { phrasesOfTables } from './phrases.ts'
import { type Read, read, strength } from './read.ts'
import { SPELLINGS } from './spellings.ts'

export interface Law {
  name: string
  cases: number
  /** Returns what breaks the law in this case, or undefined. */
  check(index: number): string | undefined
}

const LABELLED: readonly LabelledReply[] = REPLIES.flatMap(labelledReplies).filter(({ phase }) =>
  ['rcpt', 'data', 'dot', 'late'].includes(phase),
)
const PHRASES = phrasesOfTables()

/** A generator of numbers from 0 to 1 (mulberry32), the same for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Draws cases of the law while `goesOn`, and returns the first that breaks it. */
export function firstBreach(law: Law, seed: number, goesOn: (drawn: number) => boolean): string | undefined {
  const random = randomNumbers(seed)
  for (let drawn = 0; goesOn(drawn); drawn++) {
    const index = Math.floor(random() * law.cases)
    const breach = law.check(index)
    if (breach !== undefined) return `case ${index} of ${law.cases}, seed ${seed}: ${breach}`
  }
  return undefined
}

/** Where a sentence is put: before, after, or between the first two sentences. */
const PLACES: ((text: string, sentence: string) => string | undefined)[] = [
  (text, sentence) => `${ended(sentence)} ${text}`,
  (text, sentence) => `${ended(text)} ${sentence}`,
  (text, sentence) => {
    const [boundary] = /(?<=[a-z]{3}[.;!]) (?=\S)/.exec(text) ?? []
    return boundary && text.replace(/(?<=[a-z]{3}[.;!]) (?=\S)/, ` ${ended(sentence)} `)
  },
]
const ended = (text: string) => (text === '' || /[.;!?。]$/.test(text) ? text : `${text}.`)

/** Reads a reply with another text, and with the same code, status and phase. */
const withText = ({ phase, reply, mx }: LabelledReply, text: string) => read({ phase, mx, reply: { ...reply, text } })

const alone = remembered((labelled: LabelledReply) => read(labelled))
const phraseAlone = (() => {
  const known = new Map<string, Read>()
  return (labelled: LabelledReply, phrase: string) => {
    const { phase, reply, mx } = labelled
    const key = `${phase} ${reply.code} ${reply.enhanced} ${mx} ${phrase}`
    const result = known.get(key) ?? withText(labelled, phrase)
    known.set(key, result)
    return result
  }
})()

function remembered<K, V>(compute: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>()
  return (key) => {
    if (!known.has(key)) known.set(key, compute(key))
    return known.get(key)!
  }
}

const shown = ({ kind, reason, readAs }: Read) => `${kind} ${reason} ${readAs}`
const line = ({ phase, reply }: LabelledReply, text: string) =>
  `${phase} ${[reply.code, reply.enhanced, text].filter(Boolean).join(' ')}`

function product<A, B, C>(first: readonly A[], second: readonly B[], third: readonly C[]) {
  return {
    size: first.length * second.length * third.length,
    at: (index: number): [A, B, C] => [
      first[index % first.length]!,
      second[Math.floor(index / first.length) % second.length]!,
      third[Math.floor(index / first.length / second.length)]!,
    ],
  }
}

function addedSentences(name: string, sentences: readonly string[], isHarmless: boolean): Law {
  const cases = product(PLACES, sentences, LABELLED)
  return {
    name,
    cases: cases.size,
    check(index) {
      const [place, sentence, labelled] = cases.at(index)
      const text = place(labelled.reply.text, sentence)
      if (text === undefined) return undefined
      const got = withText(labelled, text)
      const before = alone(labelled)
      const most = Math.max(strength(before), strength(phraseAlone(labelled, sentence)))
      if (strength(got) > most)
        return `${line(labelled, text)}\n  is ${shown(got)}; alone ${shown(before)} and ${shown(phraseAlone(labelled, sentence))}`
      const isWeaker = isHarmless && before.decidedBy === 'words' && before.kind !== 'none' && got.kind !== before.kind
      if (isWeaker) return `${line(labelled, text)}\n  is ${shown(got)}; without the harmless sentence ${shown(before)}`
      return undefined
    },
  }
}

function spellings(): Law {
  const cases = product(SPELLINGS, LABELLED, [0])
  return {
    name: 'links, ids, dates, entities, case, line breaks, another host and another recipient change nothing',
    cases: cases.size,
    check(index) {
      const [spelling, labelled] = cases.at(index)
      const before = alone(labelled)
      const changed = spelling.change(labelled)
      if (changed === undefined) return undefined
      const got = read(changed)
      if (got.kind === before.kind && got.reason === before.reason) return undefined
      return `${spelling.name}: ${labelled.phase} ${changed.reply.code} ${changed.reply.enhanced} ${changed.reply.text}\n  is ${shown(got)}; without ${shown(before)}`
    },
  }
}

/** A reporter does not say which transaction it was in, so the replies are read as late ones. */
function frames(): Law {
  const replies = LABELLED.filter(({ reply }) => reply.text !== '')
  const cases = product(FRAMES, replies, [0])
  const late = remembered((labelled: LabelledReply) => read({ ...labelled, phase: 'late' }))
  return {
    name: 'a reply inside the words of a reporter is read as the reply alone',
    cases: cases.size,
    check(index) {
      const [frame, labelled] = cases.at(index)
      const { reply, mx } = labelled
      const before = late(labelled)
      const said = [reply.code, reply.enhanced, reply.text].filter(Boolean).join(' ')
      const lines = frame.around(said, reply)
      const got = diagnose({ recipient: 'ann@example.net', status: '', lines, mx, ours: NAMES.ours ?? [] })
      // A reporter's framing of a reply without words is no evidence of its own.
      if (got.readAs === before.readAs && got.reason === before.reason) return undefined
      if (got.reason === undefined && /not understood|without words/.test(before.readAs)) return undefined
      return `${frame.name}: ${lines.join(' / ')}\n  is ${got.reason} ${got.readAs}; alone ${shown(before)}`
    },
  }
}

/** The lines of a reply are joined by a blank, so a sentence may follow without a period. */
function joined(): Law {
  const cases = product(HARMLESS, LABELLED, [0])
  return {
    name: 'a harmless sentence behind a reply that ends without a period makes it no stronger',
    cases: cases.size,
    check(index) {
      const [sentence, labelled] = cases.at(index)
      const both = `${labelled.reply.text} ${sentence}`
      const got = withText(labelled, both)
      const most = Math.max(strength(alone(labelled)), strength(phraseAlone(labelled, sentence)))
      return strength(got) > most
        ? `${line(labelled, both)}\n  is ${shown(got)}; alone ${shown(alone(labelled))}`
        : undefined
    },
  }
}

function gibberish(): Law {
  const cases = product(GIBBERISH, LABELLED, [0])
  return {
    name: 'words that no rule knows never make kind unknown',
    cases: cases.size,
    check(index) {
      const [words, labelled] = cases.at(index)
      const got = withText(labelled, words)
      return got.kind === 'unknown' ? `${line(labelled, words)}\n  is ${shown(got)}` : undefined
    },
  }
}

/** Words that no table has, for each script. */
const STRANGE_WORDS: readonly [script: RegExp, words: readonly string[]][] = [
  [/\p{Script=Latin}/u, ['liste', 'gruppe', 'katalog', 'quorble', 'if you are outside']],
  [/\p{Script=Cyrillic}/u, ['группа', 'список', 'правило', 'нюкабрь', 'ваши']],
  [/\p{Script=Han}/u, ['授权', '审查', '霸嚏', '分组', '您的']],
  [/\p{Script=Hiragana}|\p{Script=Katakana}/u, ['ブロプル', 'グループ', 'リスト']],
]
/** Where a plain word ends; in Chinese and Japanese, behind each character. */
const WORD_END =
  /(?<=(?<![^\s(（])\p{L}+)(?=[.,;:!?]?(?:\s|$)|[。！？])|(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])/gu

/** Each end of a word in each reply of kind unknown. */
function unknownPlaces() {
  return LABELLED.filter((labelled) => alone(labelled).kind === 'unknown').flatMap((labelled) => {
    // What Postfix adds is cut, whatever the command is.
    const words = labelled.reply.text.replace(/\(in reply to .*?\)/g, (added) => '-'.repeat(added.length))
    return [...words.matchAll(WORD_END)].map(({ index }) => ({ labelled, at: index }))
  })
}

/** The word may be what is unknown, or a condition. */
function strangeWords(): Law {
  const cases = product(unknownPlaces(), [0, 1, 2, 3, 4], ['', ' '])
  return {
    name: 'a word that no table has, beside a known word or written onto it, leaves open whether the user exists',
    cases: cases.size,
    check(index) {
      const [{ labelled, at }, which, blank] = cases.at(index)
      const { text } = labelled.reply
      const [, words = []] = STRANGE_WORDS.find(([script]) => script.test(text.charAt(at - 1))) ?? []
      const word = words[which % words.length] ?? ''
      const changed = text.slice(0, at) + blank + word + text.slice(at)
      const got = withText(labelled, changed)
      const decided = decidingSentence({ ...labelled, reply: { ...labelled.reply, text: changed }, names: NAMES })
      if (got.kind !== 'unknown' || !decided?.includes(word)) return undefined
      return `${line(labelled, changed)}\n  is ${shown(got)}, decided by ${decided}`
    },
  }
}

/** Any sentence may say why the user is not found: `User unknown. The directory is being rebuilt.` */
function strangeSentences(): Law {
  const unknown = LABELLED.filter((labelled) => alone(labelled).kind === 'unknown' && alone(labelled).words)
  const words = STRANGE_WORDS.flatMap(([, each]) => each)
  const sentences = SENTENCES.flatMap((sentence) => words.map((word) => sentence.replace('*', word)))
  const cases = product(unknown, sentences, [0, 1, 2])
  return {
    name: 'a sentence with a word that no table has, unless it says where help is, leaves open whether the user exists',
    cases: cases.size,
    check(index) {
      const [labelled, sentence, which] = cases.at(index)
      const text = PLACES[which]!(labelled.reply.text, sentence)
      if (text === undefined) return undefined
      const got = withText(labelled, text)
      return got.kind === 'unknown' ? `${line(labelled, text)}\n  is ${shown(got)}` : undefined
    },
  }
}
const SENTENCES = [
  '*',
  'The * was here',
  '(*)',
  '[*]',
  'User * user',
  'Please * it',
  'Bitte *',
  'Veuillez *',
  'Por favor *',
]

/** Our names, and the address of another person. */
function otherNames(): Law {
  const names = [' <bob@third.example>', ' mail.sender.example', ' b.01@rp.sender.example', ' 192.0.2.25', ' <b.01>']
  const cases = product(unknownPlaces(), names, [0])
  return {
    name: 'a name of ours or another address, beside the words that decide, leaves open whether the user exists',
    cases: cases.size,
    check(index) {
      const [{ labelled, at }, name] = cases.at(index)
      const { text } = labelled.reply
      const changed = text.slice(0, at) + name + text.slice(at)
      const got = withText(labelled, changed)
      const decided = decidingSentence({ ...labelled, reply: { ...labelled.reply, text: changed }, names: NAMES })
      if (got.kind !== 'unknown' || !decided?.includes(name.trim())) return undefined
      return `${line(labelled, changed)}\n  is ${shown(got)}, decided by ${decided}`
    },
  }
}

/** What else a reply may speak of: words of every row that is about no mailbox, and of a time that passes. */
function doubts(): Law {
  const unknown = LABELLED.filter((labelled) => alone(labelled).kind === 'unknown')
  const cases = product(unknown, [...PHRASES, ...PASSING], [0, 1, 2])
  return {
    name: 'what another row reads in any sentence, and a word of time, leaves open whether the user exists',
    cases: cases.size,
    check(index) {
      const [labelled, phrase, which] = cases.at(index)
      const { kind, decidedBy } = phraseAlone(labelled, phrase)
      const isOther = kind === 'none' && decidedBy === 'words'
      const text = PLACES[which]!(labelled.reply.text, phrase)
      if (text === undefined || !(isOther || PASSING.includes(phrase))) return undefined
      const got = withText(labelled, text)
      return got.kind === 'unknown' ? `${line(labelled, text)}\n  is ${shown(got)}` : undefined
    },
  }
}
const PASSING = [
  'Please try later',
  'Bitte warten',
  'Temporary',
  'Veuillez patienter',
  'retry=300',
  'Por favor, espere',
]

/** Help may name the reason: `Please check your SPF record.` An id may, too: `[greylisted-300]`. */
function reasonsInHelp(): Law {
  const [rcpt] = LABELLED.filter(({ phase, reply }) => phase === 'rcpt' && reply.enhanced === '5.1.1')
  const cases = product(HELP_ON, [...PHRASES, ...PASSING], [...UNKNOWN_USERS, '<ann@example.net>'])
  return {
    name: 'what another row reads in a sentence of help, in its link, or in an id, leaves open whether the user exists',
    cases: cases.size,
    check(index) {
      const [help, phrase, unknown] = cases.at(index)
      const { kind, decidedBy } = phraseAlone(rcpt!, phrase)
      const isPassing = PASSING.includes(phrase)
      if (!isPassing && !(kind === 'none' && decidedBy === 'words')) return undefined
      const said = / \*/.test(help) ? phrase : phrase.replaceAll(' ', '-')
      const sentence = help.replace('*', said)
      for (const text of [`${unknown} ${sentence}`, `${sentence} ${unknown}`]) {
        const got = withText(rcpt!, text)
        if (got.kind === 'unknown') return `${line(rcpt!, text)}\n  is ${shown(got)}`
      }
      return undefined
    },
  }
}
const HELP_ON = [
  'Please check *.',
  'Contact us about *.',
  'For more information about * write to us.',
  'Bitte prüfen Sie *.',
  'Merci de *.',
  'See https://www.example.org/mail/*',
  'For help, visit https://help.example.org/?p=*&id=7',
  'Visit https://www.example.org/errors?ip=192.0.2.25.',
  '[*-110]',
  '(17-*)',
  '*-300',
]
const UNKNOWN_USERS = ['User unknown.', 'Empfänger unbekannt.', '用户不存在。']

/** A cause, or a statement, in a sentence of help is no help: `Please contact us because the directory is offline.` */
function causesInHelp(): Law {
  const [rcpt] = LABELLED.filter(({ phase, reply }) => phase === 'rcpt' && reply.enhanced === '5.1.1')
  const sentences = CAUSES.flatMap((cause) => GIBBERISH.map((words) => `${cause} ${words.toLowerCase()}`))
  const cases = product(sentences, UNKNOWN_USERS, [0, 1])
  return {
    name: 'a cause or a statement in a sentence of help leaves open whether the user exists',
    cases: cases.size,
    check(index) {
      const [sentence, unknown, which] = cases.at(index)
      const text = PLACES[which]!(unknown, sentence)!
      const got = withText(rcpt!, text)
      return got.kind === 'unknown' ? `${line(rcpt!, text)}\n  is ${shown(got)}` : undefined
    },
  }
}
const CAUSES = [
  ...['Please contact us because of', 'Please contact your administrator due to', 'Bitte wenden Sie sich an uns, weil'],
  ...['Bitte kontaktieren Sie uns wegen', 'Veuillez contacter le support parce que', 'Por favor, contacte porque'],
  ...['Si prega di contattare il supporto perché', 'Neem contact op omdat', 'Prosimy o kontakt z powodu'],
  ...['See our website, the directory is', 'Please contact the helpdesk, our server has', 'If you need help: we are'],
  ...[
    'Danke, das Verzeichnis wird',
    'Merci, le serveur est',
    'Reference data not',
    'Contact sync failed:',
    'Visit was',
  ],
]

/** Known words may affirm the user, deny what is no mailbox, or speak of the sender: `User known, alias unknown`. */
function knownWords(): Law {
  const unknown = LABELLED.filter((labelled) => alone(labelled).kind === 'unknown' && alone(labelled).words)
  const cases = product(unknown, AFFIRMATIONS, [0, 1, 2, 3])
  return {
    name: 'a statement of known words that affirms a mailbox, or denies a thing of the system, leaves open whether the user exists',
    cases: cases.size,
    check(index) {
      const [labelled, statement, which] = cases.at(index)
      const { text: said } = labelled.reply
      const isHostFirst = /^\S+\.\S+ /.test(said)
      const text = which === 3 && !isHostFirst ? `${statement}, ${said}` : PLACES[which % 3]!(said, statement)
      if (text === undefined) return undefined
      const got = withText(labelled, text)
      return got.kind === 'unknown' ? `${line(labelled, text)}\n  is ${shown(got)}` : undefined
    },
  }
}
const AFFIRMATIONS = [
  ...['User', 'The recipient', 'This mailbox', 'Account', 'The address'].flatMap((noun) => [
    ...[`${noun} exists`, `${noun} known`, `${noun} is known`, `${noun} does exist`, `${noun} sent this`],
  ]),
  ...['Empfänger vorhanden', 'Den Benutzer gibt es', 'Användaren finns'],
  ...['The user', 'This mailbox', 'ann@example.net', 'Mail for this domain'].flatMap((subject) => [
    ...[`${subject} is here`, `${subject} is at mx9.example.org`, `${subject} was on host mx9.example.org`],
  ]),
  ...['There is a user with that name', 'This user has a mailbox at mx9.example.org', 'The address is with us'],
  ...['Der Benutzer ist bei uns', 'Le compte est ici', 'El buzón está en mx9.example.org', 'Het postvak is hier'],
  ...['domain', 'server', 'mail server', 'host', 'system', 'directory', 'database'].flatMap((thing) => [
    ...[`No ${thing}`, `No ${thing} known`, `Unknown ${thing}`],
  ]),
]

/** Where a domain has no customer, a server no mailbox, or the command names none, no user is unknown. */
function deniedOfDomain(): Law {
  const [rcpt] = LABELLED.filter(({ phase, reply }) => phase === 'rcpt' && reply.enhanced === '5.1.1')
  const subjects = [
    'example.net',
    'mx3.example.net',
    'Recipient address rejected: example.net',
    'Sorry, mx3.example.net',
  ]
  const texts = [
    ...subjects.flatMap((subject) => OF_DOMAINS.map((said) => `${subject} ${said}`)),
    ...NOT_SERVED.flatMap((said) => [': example.net', ' example.net', ', example.net'].map((name) => said + name)),
    ...['users', 'mailboxes', 'accounts', 'recipients'].map((nouns) => `There are no ${nouns} on this server`),
    ...['mailbox', 'user', 'recipient', 'account', 'address', 'mailbox name'].flatMap((noun) =>
      ['specified', 'given', 'entered', 'supplied', 'was indicated', 'specified in RCPT TO'].map(
        (said) => `No ${noun} ${said}`,
      ),
    ),
  ]
  const cases = product(texts, ['', '.', '. Thank you.'], [0])
  return {
    name: 'what is denied of a domain, a whole server or the command leaves open whether the user exists',
    cases: cases.size,
    check(index) {
      const [said, end] = cases.at(index)
      const got = withText(rcpt!, said + end)
      return got.kind === 'unknown' ? `${line(rcpt!, said + end)}\n  is ${shown(got)}` : undefined
    },
  }
}
const OF_DOMAINS = [
  ...['is not our customer', 'is not one of our customers', 'has no mailbox', 'has no account', 'has no mailbox here'],
  ...['does not have an account', "doesn't have a mailbox", 'is an unknown customer'],
]
const NOT_SERVED = ['Not our customer', 'No such customer', 'Unknown account', 'Account not found', 'Customer unknown']

/** Codes and statuses of the protocol, of the sender, of the system, of the route, of security, and of a while. */
function otherNumbers(): Law {
  const unknown = LABELLED.filter((labelled) => alone(labelled).kind === 'unknown' && labelled.reply.text !== '')
  const cases = product(unknown, [500, 501, 503, 504, 521, 535, 541, 555, 571], STATUSES_OF_OTHERS)
  return {
    name: 'a code or a status of another subject, before the words or among them, leaves open whether the user exists',
    cases: cases.size,
    check(index) {
      const [labelled, code, status] = cases.at(index)
      const { reply } = labelled
      const changed = [
        { ...reply, code },
        { ...reply, enhanced: status },
        { ...reply, text: `${reply.text} (${status})` },
        toReply({ code: 550, lines: [`5.1.1 ${reply.text}`, `${status} ${reply.text}`] }),
      ]
      for (const each of changed) {
        const got = read({ ...labelled, reply: each })
        if (got.kind === 'unknown') return `${each.code} ${each.enhanced} ${each.text}\n  is ${shown(got)}`
      }
      return undefined
    },
  }
}
const STATUSES_OF_OTHERS = ['4.1.1', '4.2.0', '4.7.1', '5.1.7', '5.1.8', '5.4.4', '5.5.1', '5.6.0', '5.7.0', '5.7.1']

/** The last of several nouns is the one that is unknown: `mailbox table not found`. */
function thingsOfTheSystem(): Law {
  const [rcpt] = LABELLED.filter(({ phase, reply }) => phase === 'rcpt' && reply.enhanced === '5.1.1')
  const nouns = phrases(...NOUNS).filter(({ text }) => text !== 'rcpt to')
  const cases = product(nouns, phrases(...UNKNOWN_WORDS), THINGS)
  return {
    name: 'a thing of the mail system between the mailbox and what is said of it is what is unknown',
    cases: cases.size,
    check(index) {
      const [{ text: noun }, { text: unknown }, thing] = cases.at(index)
      const text = [noun, thing, unknown].join(/\p{Script=Han}/u.test(thing) ? '' : ' ')
      const got = read({ ...rcpt!, reply: { ...rcpt!.reply, text } })
      return got.kind === 'unknown' ? `${line(rcpt!, text)}\n  is ${shown(got)}` : undefined
    },
  }
}
const THINGS = [
  ...[
    'table',
    'virtual table',
    'error',
    'server',
    'mail server',
    'system',
    'message',
    'session',
    'list',
    'index',
    'store',
    'resolver',
    'appliance',
    'mailhost',
    'destination',
    'response',
    'session id',
    'RCPT TO',
  ],
  ...['系统', '服务器', '伺服器', '系統', '的服务器', '列表'],
]

/** Where a user is not found may be a list of those who may write, or of something else than mailboxes. */
function conditions(): Law {
  const cases = product(REFUSED_USERS, PREPOSITIONS, CONDITIONS)
  const [rcpt] = LABELLED.filter(({ phase, reply }) => phase === 'rcpt' && reply.enhanced === '5.1.1')
  return {
    name: 'a user who is not found in something is not unknown without doubt, even if the recipient has that name',
    cases: cases.size,
    check(index) {
      const [refused, preposition, thing] = cases.at(index)
      const text = `${refused} ${preposition} ${thing}`
      const named = { ...NAMES, recipient: `${thing.split(' ').at(-1)}@example.net` }
      for (const names of [NAMES, named]) {
        const got = read({ ...rcpt!, reply: { ...rcpt!.reply, text }, names })
        if (got.kind === 'unknown') return `${line(rcpt!, text)} of ${names.recipient}\n  is ${shown(got)}`
      }
      return undefined
    },
  }
}
const REFUSED_USERS = ['User unknown', 'No such user', 'Mailbox not found', 'ann@example.net does not exist']
const PREPOSITIONS = [
  'in',
  'in the',
  'in your',
  'in our',
  'on the',
  'on our',
  'within the',
  'among the',
  'of the',
  'at your',
  'to',
  'to this',
  'by the',
]
const LISTS = ['list', 'lists', 'book', 'guide', 'portal', 'settings', 'page', 'team', 'terms', 'agreement', 'provider']
const OWNERS = ['account', 'user', 'customer', 'address', 'mailbox', 'mail', 'recipient', 'contact', 'friends', 'safe']
const CONDITIONS = [
  ...OWNERS.flatMap((owner) => LISTS.map((thing) => `${owner} ${thing}`)),
  ...OWNERS.map((owner) => `address book of the ${owner}`),
  ...OWNERS,
  'blorple',
  'quux zibble',
  'list3',
  'ldap-1',
]

export const LAWS: readonly Law[] = [
  addedSentences('a phrase of the tables in a sentence of its own makes no reply stronger', PHRASES, false),
  addedSentences('a harmless sentence makes a reply neither stronger nor, where words decided, weaker', HARMLESS, true),
  spellings(),
  frames(),
  gibberish(),
  strangeWords(),
  strangeSentences(),
  otherNames(),
  doubts(),
  reasonsInHelp(),
  causesInHelp(),
  knownWords(),
  otherNumbers(),
  conditions(),
  deniedOfDomain(),
  thingsOfTheSystem(),
  joined(),
]
