// What a reply says besides its reason.

import { NAMED } from '../plain-text.ts'
import { words } from './pattern.ts'

/** A request begins with these words, not with the next. */
export const POLITE = 'please, bitte, veuillez, por favor, si prega, per favore, prosimy, пожалуйста'

/** What a server asks for that says nothing about the refusal. Anything else may be a condition: `Please resend`. */
const ASKED = words(
  'check, double check, try double checking, do not reply, quote, forward, call, refer, consult, verify, review, read',
  'remove, update, correct, ensure, make sure, look for, reply to',
  'wenden, kontaktieren, prüfen, überprüfen, lesen, besuchen, contacter, consulter, vérifier, visiter, revise, verifique',
  'entre em contato, di contattare, di consultare, di verificare, o kontakt, odwiedzić, sprawdzić, свяжитесь, обратитесь',
  'проверьте',
)

/**
 * Words that begin a sentence about help. Without the end of a sentence before them they begin a condition, which stays
 * in its clause: `User unknown if you are not on our network`.
 */
export const IF = words(
  'if you believe, if you think, if you feel, if you have, if you need, si vous avez, si vous pensez, si tiene, si cree',
  'se ha domande, se ritiene, se tiver, se acredita, als u vragen, als u denkt, jeśli uważasz',
)

/** Words that begin a sentence about help, links and thanks. */
const OPENERS = words(
  'see, visit, contact, for more, for further, for details, for help, for assistance, for information',
  'for explanation, thank you, thanks, refer to, learn more, go to, more information',
  'more details, need help, questions, read more, we apologize, we are sorry for, have a nice, reference',
  'write to, siehe, weitere informationen, weitere hinweise, weitere details, bei fragen, hilfe finden, vielen dank',
  'danke, mehr dazu, mehr informationen, wir bitten um, mit freundlichen',
  'consultez, contactez, voir, pour plus, pour en savoir, pour toute question, merci',
  'plus informations, nous vous prions, cordialement',
  'consulte, contacte, visite, vea, para más, para obtener, gracias, muchas gracias',
  'más información, lamentamos',
  'per ulteriori, per maggiori, per assistenza, per informazioni, consulti, vedi, visiti',
  'contatti, grazie, altre informazioni, ci scusiamo',
  'contate, escreva, veja, para mais, para obter, obrigado, muito obrigado, mais informações, pedimos desculpa',
  'neem contact, raadpleeg, bezoek, controleer, zie, voor meer, voor hulp, bedankt, meer informatie',
  'hartelijk dank, onze excuses',
  'zobacz, napisz, pomoc, więcej informacji, więcej szczegółów, w razie pytań, dziękujemy, dziękuję, przepraszamy',
  'numer zgłoszenia, подробнее, для получения, can tell you more, ihr kundenberater, votre conseiller, su asesor',
  'il suo consulente, o seu gerente, uw adviseur, twój doradca, this is an automatic, dies ist eine automatische',
  'ceci est un message automatique, este es un mensaje automático, questo è un messaggio automatico',
  'esta é uma mensagem automática, dit is een automatisch, to jest wiadomość automatyczna, einen schönen tag',
  'bonne journée, un saludo, que tenga un buen, buona giornata, cordiali saluti, tenha um bom, atenciosamente',
  'dank voor, een fijne dag, met vriendelijke groet, miłego dnia, z poważaniem',
)
export const HELP = `(?:${words(POLITE)},? ${ASKED}|(?:${words(POLITE)},? )?${OPENERS})`

const PEOPLE = words('account, user, customer, client, address, mailbox, mail, email, recipient')
const OF_PEOPLE = words(
  'manager, managers, guide, guides, manual, handbook, agreement, service, support, help, helpdesk, care, book',
  'provider, administrator, admin, portal, page, settings, terms, team, relations, representative',
)

/** Words before a noun that lies in their phrase: it begins no sentence, and is no subject. */
export const WITHIN = 'in|on|at|of|to|by|within|among'
export const ARTICLES = 'the|our|your|a|an|this'
/** In an address book a user may not be found who exists. */
const NOT_WITHIN = `(?<!(?:^| )(?:${WITHIN}) (?:(?:${ARTICLES}) )?)`

/** Phrases that are cut, because they name a sender, a user, a relay or an address and say nothing about them. */
export const SAYS_NOTHING = new RegExp(
  [
    `(?:message )?${words('returned, return, returning, back')} (?:message )?to (?:the )?sender(?![a-z])(?: ${NAMED.ourAddress})?`,
    `${NOT_WITHIN}(?:your )?${PEOPLE} ${OF_PEOPLE}`,
    words('in relay recipient table, in relay domain table, target ip address, mail exchanger or ip address'),
  ].join('|'),
  'g',
)
