// The words beside which an unknown user is unknown without doubt. A word that is not here may be a condition, as in
// `user not found in white list`, so a clause with one leaves open whether the user exists.

import { NAMED } from '../plain-text.ts'
import { HELP, IF } from './harmless.ts'
import { MAILBOX, NO_SUCH_WORDS, NO_WORDS, NOBODY_WORDS, NOUN, NOUNS, UNKNOWN_WORDS } from './lexicon.ts'
import { phrases, words } from './pattern.ts'

const BEGINS_HELP = new RegExp(`^.{0,60}?(?:${HELP}|${IF})`)
const BEGINS_CONDITION = new RegExp(`^.{0,60}?${IF}`)

/** Sentences and phrases around an unknown user. */
const FRAMES = [
  'recipient address rejected, recipient rejected, address rejected, requested action not taken, requested mail action aborted',
  'requested mail action not taken, delivery error dd, delivery error, permanent failure for one or more recipients',
  'permanent failure, delivery failed, message not delivered, not delivered, cannot be delivered, could not be delivered',
  'undeliverable address, undeliverable, message was not accepted, message rejected, delivery refused, is unavailable',
  'delivery not attempted, message was not delivered, goodbye, invalid mailbox, invalid recipient',
  'unknown or illegal alias, smtp address lookup, recipient verify failed, recipient verify failed for',
  'smtp error from remote mail server after',
  'smtp error from remote server after, to which you wrote, you wrote to, you tried to reach, you are trying to reach',
  'you are trying to contact, local mailbox, msg id, you entered, you specified, your message to, message to, mail to',
  'we do not have, by that name, by smtp address lookup, associated with this name, not our customer, do not have, have no',
  'either there is no mailbox associated with this name or you do not have authorization to see it',
  'ihre nachricht, konnte nicht zugestellt werden, called sent, sent rcpt to, remote host said, said, response, reporting, rejecting, returned',
  `host ${NAMED.host}`,
]
/** Single words that set no condition. */
const PARTICLES = [
  'a, an, the, this, that, these, those, there, is, was, are, be, been, has, have, had, does, do, did, here, at, on, in',
  'with, our, we, it, and, any, one, such, so',
  'email, e mail, mail, smtp address, name, sorry',
  'ex, doesnt, dont, isnt, wasnt, cant, specified, given, indicated, entered, supplied, named, called, longer, us, resolver',
  'adr, rst, gsmtp, sessionid, recipnotfound, appliance, vpopmail, chkuser, mailhost, rcpt, alas, no',
  'der, die, das, dem, den, des, dieser, diese, dieses, diesem, diesen, ein, eine, einen, einem, es, ist, wurde, wird, sind, auf',
  'bei, uns, im, am, mit, hier, zu, für, mit, namen, angegebene*, leider, an, da, solches, solchen, solcher',
  'le, la, les, un, une, ce, cette, cet, ces, ne, est, nest, sont, destino, destination, destinazione, été, ici, du, de, au, aux, chez, nous, sur, dans',
  'indiqué*, spécifié*, avec, nom, messagerie, dune, quil, à, et, ou, désolé*, notre',
  'el, los, las, una, esta, este, ese, esa, ha, sido, fue, en, correo, del, aquí, se, lo, con, nombre, indicad*',
  'il, lo, gli, questo, questa, è, stato, stata, qui, su, di, posta, dell, della, nel, indicato, nostro, presso, non, che, ce',
  'o, os, as, um, uma, foi, neste, do, da, no, na, aqui, não, indicado, com, e',
  'het, een, dit, deze, die, dat, niet, op, onze, bij, ons, geen, dergelijke, opgegeven, voor, er, met, naam',
  'ten, ta, to, nie, tym, ma, takiego, takiej, na, w, tego, den här, med, det, denne, og, på, i',
  'такой, такого, этого, на, в, нет',
  '于本系统, 於本系統, 于本服务器, 於本伺服器, 系统中, 系統中, お探し, の, は, か, ませ, ん, 的, 在, 于, 於, 该, 此, 本, 中',
]
const THERE_IS = words('known, exist, exists, vorhanden, gibt, finns')
const NEGATION = words(...NO_WORDS, 'not, no, isnt, nicht, ne, pas, non, niet, nie, não, inte, ikke, не')
/** A word that there is a user, where it is denied: `no such user exists`, `es gibt keinen Benutzer`. */
const DENIED = new RegExp(`${THERE_IS}(?:(?<=${NEGATION}[^,:]{0,60})|(?=[^,:]{0,12}${NEGATION}))`, 'g')
/** A word that the user is somewhere, unless something is denied: `ann@example.net is at mx9.example.org`. */
const BEING = /(?<![a-z])(?:is|are|was|were|has|have|had|ist|sind|est|sont|es|esta|ha|e)(?![a-z])/g
const DENIAL = new RegExp(
  `${NEGATION}|${words(...UNKNOWN_WORDS, ...NO_SUCH_WORDS)}|(?<![a-z])(?:(?:do|does|did|is|was|has|ca)nt(?![a-z])|reject|refus|fail|error|undeliver|invalid|unavailable)`,
)
/** What is said of something, but that help exists, or how an address is to be. */
const STATEMENT =
  /(?<![a-z])(?:doesnt|isnt|wasnt|cant|not|nicht|niet|failed|unavailable|is|are|was|were|has|had|ist|sind|wird|werden|wurde|est|sont|wordt|jest)(?![a-z])(?! (?:available|correct|right|valid))/
/** Whether a sentence of help goes on with a statement: `See the status page, our directory is offline.` */
export function saysMore(help: string): boolean {
  const [begun = '', ...parts] = help.replace(BEGINS_HELP, '').split(/[,:]/)
  return parts.some((part) => STATEMENT.test(part)) || (!BEGINS_CONDITION.test(help) && STATEMENT.test(begun))
}
/** Where the user is unknown. A domain or a server without a preposition may be what is unknown, as in `no server`. */
const PLACES = new RegExp(
  `(?<!not )(?:${words(
    'in, on, at, by, for, to, of, within, auf, bei, sur, dans, en, su, nel, neste, nesse, op, na, w, на',
  )} (?:${words(
    'this, our, the, that, my, local, diesem, diesen, unserem, unserer, dieser, ce, cette, notre, este, esta, nuestro, questo',
    'nostro, nosso, deze, dit, onze, ons, tym, этом, нашем',
  )} )?${words(
    'domain, server, mail server, host, system, site, organization, directory, database, mysql table, my sql table, domino directory',
    'local recipient table, virtual mailbox table, virtual alias table, virtual user table',
    'mail system, domäne, verzeichnis, serveur, système, domaine, servidor, sistema, domínio',
    'domein, systeem, serwerze, сервере',
  )}|(?<![a-z])no (?:nosso )?(?:servidor|sistema|dominio)(?![a-z]))`,
  'g',
)
/** Words of a condition that passes: the refusal may be temporary. And words before a cause, whatever it is. */
export const GIVES_REASON = new RegExp(
  words(
    'because, due to, owing to, weil, wegen, aufgrund, parce que, en raison, à cause, porque, debido, a causa, perché',
    'por causa, devido, omdat, vanwege, wegens, ponieważ, z powodu, потому, из за, 因为, 因為, 由于, 由於, のため',
    'later, wait, temporar*, tempfail, retry*, deferr*, minute, minutes, seconds, hour, hours, in progress, pending, migrat*',
    'später, vorübergehend, warten, wartung, plus tard, temporair*, patienter, más tarde, temporal*, espere, más adelante',
    'più tardi, temporane*, attend*, mais tarde, aguarde, tijdelijk*, onderhoud, wacht, później, tymczasow*, chwilow*',
    'tomorrow, demain, mañana, domani, amanhã, jutro, завтра, 明天',
    'позже, временно, подождите, 稍后, 稍後, 暂时, 暫時, 重试, 後で, 一時的',
  ),
)
/** Behind these is no name: `no such user in members`, whoever is called members. */
const BEFORE_A_PLACE = (
  'in on at of to by from within among per im auf bei beim von vom dans sur chez de du au en su nel di del na do op bij ' +
  'van w z на от'
).split(' ')
const ARTICLES =
  'the our this that your my a an dem den der diesem unserem le la les ce cet cette el los este il lo questo os het een deze'.split(
    ' ',
  )
const TO_SOMEONE = `(?:${BEFORE_A_PLACE.filter((word) => word !== 'at').join('|')}) (?:(?:${ARTICLES.join('|')}) )?(?:mail|email|${MAILBOX})`
const NOT_BEHIND = (...before: string[]) =>
  `(?<!\\b(?:at|in|on|of|to|by|from|within|for|bei|an|a|${before.join('|')})[ ,:]{1,3})`
const DOMAIN = `(?:${NAMED.host}|${NAMED.recipientDomain})`

/** What known words may say besides: the user exists, or something else does not. */
const OPEN_STATEMENTS = [
  // `Keiner ist unbekannt`: two negations say that the user is known.
  `${NEGATION} (?:[a-z]{1,12} )?${words(...NO_SUCH_WORDS)}`,
  // `This address is not known to the recipient`, who exists. But at an address there may be no user.
  `${words(...UNKNOWN_WORDS, ...NO_SUCH_WORDS)}[^.;!,:]{0,12}? ${TO_SOMEONE}(?! (?:server|system|lookup))`,
  `\\b(?:dem|diesem|unserem) ${NOUN}`,
  `${NOUN} (?:doesnt|does not|dont|do not) know`,
  // `User resolver not found`, `RCPT TO not recognized`: a part of the system is unknown.
  `(?<![a-z]|\\b(?:de|di) )(?:resolver|appliance|mailhost|vpopmail|chkuser|destination|response|session ?id|rcpt to) (?:(?:is|was) )?${words(...UNKNOWN_WORDS)}`,
  // `No mailbox specified`: the command names none.
  `\\bno ${NOUN}(?: name)? (?:(?:is|was) )?(?:specified|given|entered|supplied|indicated)`,
  // `example.net is not our customer`, `No such account: example.net`: a domain is not set up as it should be.
  `${NOT_BEHIND('host')}\\b${DOMAIN} (?:is|isnt|has|have|does not have|doesnt have)(?![a-z])`,
  `\\p{L}[ ,:]{1,3}${NOT_BEHIND('host', 'domain', 'rejected')}${NAMED.recipientDomain}`,
].map((source) => new RegExp(source, 'u'))
const KNOWN = phrases(
  ...[...FRAMES, ...NOBODY_WORDS, ...NO_SUCH_WORDS, ...UNKNOWN_WORDS, ...NOUNS, ...NO_WORDS, ...PARTICLES],
  NAMED.recipient,
  NAMED.recipientDomain,
  NAMED.host,
  NAMED.ip,
)
const WHOLE = new Set(KNOWN.filter(({ isOpen }) => !isOpen).map(({ text }) => text))
/** Phrases with any ending. Letters that are not ASCII may have one without a star. */
const OPEN = KNOWN.filter(({ isOpen, text }) => isOpen || /[^\x00-\x7f]/.test(text)).map(({ text }) => text)
/** Chinese and Japanese have no endings: what follows a word is another word. */
const GLUED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
const OPEN_BY_LETTER = Map.groupBy(
  OPEN.filter((stem) => !GLUED.test(stem)),
  (stem) => stem[0],
)
const MOST_WORDS = Math.max(...KNOWN.map(({ text }) => text.split(' ').length))
/** The shortest word that is inflected by an ending: behind `в` any letters are another word. */
const LEAST_STEM = 4
/** The longest ending of an inflected word. A longer one is another word: `Empfängerliste`, `mailboxdatabase`. */
const MOST_ENDING = 3

/** The words of the clause that are not known, but ids. A set is looked up, because a pattern takes long to compile. */
export function leftWords({ text, ids }: { text: string; ids: ReadonlySet<string> }): string[] {
  const rest = text.replace(PLACES, ' ')
  const found = [...rest.matchAll(/[\p{L}\p{N}%]+/gu)]
  const tokens = found.map(([token]) => token)
  const denied = new Set(Array.from(rest.matchAll(DENIED), ({ index }) => index))
  const affirming = new Set(
    Array.from(rest.matchAll(/[^,:]+/g))
      .filter(([part]) => !DENIAL.test(part))
      .flatMap(({ 0: part, index }) => Array.from(part.matchAll(BEING), (being) => index + being.index)),
  )
  const left: string[] = OPEN_STATEMENTS.flatMap((statement) => statement.exec(text) ?? [])
  let isPlace = false
  for (let at = 0; at < tokens.length; ) {
    const length = knownLength(tokens, at)
    const word = tokens[at]!
    const isName = ids.has(word) && (!isPlace || (/\d/.test(word) && !isOfPlace(tokens, at)))
    const isAffirming = length === 1 && affirming.has(found[at]!.index)
    const isKnown = (length > 0 && !isAffirming) || isName || denied.has(found[at]!.index) || isGlued(word)
    if (!isKnown && /\p{L}/u.test(word)) left.push(word)
    isPlace ||= length <= 1 && BEFORE_A_PLACE.includes(word)
    at += Math.max(1, length)
  }
  return left
}

/** Behind a preposition, and perhaps an article: `in our ldap1`. */
function isOfPlace(tokens: readonly string[], at: number): boolean {
  const last = ARTICLES.includes(tokens[at - 1] ?? '') ? tokens[at - 2] : tokens[at - 1]
  return BEFORE_A_PLACE.includes(last ?? '')
}

/** How many words from here on are a known phrase: the longest one. */
function knownLength(tokens: readonly string[], at: number): number {
  for (let length = Math.min(MOST_WORDS, tokens.length - at); length > 0; length--) {
    const phrase = tokens.slice(at, at + length).join(' ')
    if (WHOLE.has(phrase) || OPEN_BY_LETTER.get(phrase[0])?.some((stem) => isEnding(phrase, stem))) return length
  }
  return 0
}

function isEnding(phrase: string, stem: string): boolean {
  const ending = phrase.length - stem.length
  if (ending > 0 && stem.length < LEAST_STEM) return false
  return ending >= 0 && ending <= MOST_ENDING && phrase.startsWith(stem) && !phrase.includes(' ', stem.length)
}

/** Chinese and Japanese write no blanks: known words follow one another. */
function isGlued(word: string): boolean {
  if (/[a-z]/.test(word)) return false
  return OPEN.reduce((rest, known) => rest.replaceAll(known, ' '), word).trim() === ''
}
