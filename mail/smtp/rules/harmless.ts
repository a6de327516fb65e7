// What a reply says besides its reason.

import { NAMED } from '../plain-text.ts'
import { words } from './pattern.ts'

/** What a server demands is no help. */
const DEMAND = words(
  'authenticate, log in, login, sign in, use, enable, turn on, turn off, issue, reduce, slow, configure, set, register',
  'send, stop, fix',
)

/**
 * Words that begin a sentence about help. Without the end of a sentence before them they begin a condition, which stays
 * in its clause: `User unknown if you are not on our network`.
 */
export const IF = words(
  'if you, si vous, si tiene, si cree, se ha domande, se ritiene, se tiver, se acredita, als u, jeśli',
)

/** Words that begin a sentence about help, links and thanks. */
export const HELP = `(?:${words('please')}(?! ${DEMAND})|${words(
  'see, visit, contact, for more, for further, for details, for help, for assistance, for information',
  'for explanation, thank you, thanks, refer to, learn more, go to, more information',
  'more details, need help, questions, read more, we apologize, we are sorry for, have a nice, reference',
  'bitte, siehe, weitere informationen, weitere hinweise, weitere details, bei fragen, hilfe finden, vielen dank',
  'danke, mehr dazu, mehr informationen, wir bitten um, mit freundlichen',
  'veuillez, consultez, contactez, voir, pour plus, pour en savoir, pour toute question, merci',
  'plus informations, nous vous prions, cordialement',
  'por favor, consulte, contacte, visite, vea, para más, para obtener, gracias',
  'más información, lamentamos',
  'si prega, per favore, per ulteriori, per maggiori, per assistenza, per informazioni, consulti, vedi, visiti',
  'contatti, grazie, altre informazioni, ci scusiamo',
  'contate, veja, para mais, obrigado, mais informações, pedimos desculpa',
  'raadpleeg, bezoek, controleer, zie, voor meer, voor hulp, bedankt, meer informatie',
  'hartelijk dank, onze excuses',
  'prosimy, zobacz, więcej informacji, więcej szczegółów, w razie pytań, dziękujemy, przepraszamy',
  'пожалуйста, подробнее, для получения',
)})`

const PEOPLE = words('account, user, customer, client, address, mailbox, mail, email, recipient')
const OF_PEOPLE = words(
  'manager, managers, guide, guides, manual, handbook, agreement, service, support, help, helpdesk, care, book',
  'provider, administrator, admin, portal, page, settings, terms, team, relations, representative',
)

/** Words before a noun that lies in their phrase: it begins no sentence, and is no subject. */
export const WITHIN = 'in|on|at|of|within|among'
export const ARTICLES = 'the|our|your|a|an|this'
/** In an address book a user may not be found who exists. */
const NOT_WITHIN = `(?<!(?:^| )(?:${WITHIN}) (?:(?:${ARTICLES}) )?)`

/** Phrases that are cut, because they name a sender, a user, a relay or an address and say nothing about them. */
export const SAYS_NOTHING = new RegExp(
  [
    `${words('returned, return, returning, back')} (?:message )?to (?:the )?sender(?![a-z])(?: ${NAMED.ourAddress})?`,
    `${NOT_WITHIN}${PEOPLE} ${OF_PEOPLE}`,
    words('relay recipient table, relay domain table, target ip address, mail exchanger or ip address'),
  ].join('|'),
  'g',
)
