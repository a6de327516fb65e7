// The words beside which an unknown user is unknown without doubt. A word that is not here may be a condition, as in
// `user not found in white list`, so a clause with one leaves open whether the user exists.

import { NAMED } from '../plain-text.ts'
import { NO, NO_SUCH, NOBODY_HERE, NOUN, UNKNOWN } from './lexicon.ts'
import { words } from './pattern.ts'

/** Sentences and phrases around an unknown user. */
const FRAMES = words(
  'recipient address rejected, recipient rejected, address rejected, requested action not taken, requested mail action aborted',
  'requested mail action not taken, delivery error dd, delivery error, permanent failure for one or more recipients',
  'permanent failure, delivery failed, message not delivered, not delivered, cannot be delivered, could not be delivered',
  'undeliverable address, undeliverable, message was not accepted, is unavailable, invalid mailbox, invalid recipient',
  'unknown or illegal alias, smtp address lookup, recipient verify failed, smtp error from remote mail server after',
  'smtp error from remote server after, to which you wrote, you wrote to, you tried to reach, you are trying to reach',
  'you are trying to contact, you entered, you specified, your message to, your message, message to, mail to, we do not have',
  'associated with this name, not our customer, in relay recipient table, in relay domain table, do not have, have no',
  'ihre nachricht, konnte nicht zugestellt werden, called sent, remote host said, said, response, reporting, rejecting, returned',
  `host ${NAMED.host}`,
)
/** Single words that set no condition. */
const PARTICLES = words(
  'a, an, the, this, that, these, those, there, is, was, are, be, been, has, have, had, does, do, did, here, at, on, in',
  'by, with, of, to, our, we, it, or, and, any, one, such, so, local, part, virtual, table',
  'email, e mail, mail, smtp address, name, sorry, error, id, msg, dd',
  'ex, sent, doesnt, dont, isnt, wasnt, cant, specified, given, indicated, entered, supplied, named, called, known, exists, exist, currently known, longer, us, resolver',
  'adr, rst, gsmtp, sessionid, recipnotfound, appliance, vpopmail, chkuser, mailhost, for, rcpt, alas, hello, my, i, im, no',
  'der, die, das, dem, den, des, dieser, diese, dieses, diesem, diesen, ein, eine, einen, einem, es, ist, wurde, wird, sind, auf',
  'bei, uns, im, am, mit, hier, zu, für, mit, namen, angegebene*, leider, an, da, vorhanden, solches, solchen, solcher, gibt',
  'le, la, les, un, une, ce, cette, cet, ces, ne, est, nest, sont, destino, destination, destinazione, été, ici, du, de, au, aux, chez, nous, sur, dans',
  'indiqué*, spécifié*, avec, nom, messagerie, dune, quil, à, et, ou, désolé*, notre',
  'el, los, las, una, esta, este, ese, esa, ha, sido, fue, en, correo, del, aquí, se, lo, con, nombre, indicad*',
  'il, lo, gli, questo, questa, è, stato, stata, qui, su, di, posta, dell, della, nel, indicato, nostro, presso, non, che, ce',
  'o, os, as, um, uma, foi, neste, do, da, no, na, aqui, não, indicado, com, e',
  'het, een, dit, deze, die, dat, niet, op, onze, bij, ons, geen, dergelijke, opgegeven, voor, er, met, naam',
  'ten, ta, to, nie, tym, ma, takiego, takiej, na, w, tego, den här, finns, med, det, denne, og, på, i',
  'такой, такого, этого, на, в, нет, お探し, の, は, か, ませ, ん, 的, 在, 该, 此, 本, 中, 您',
)
/** Where the user is unknown. A domain or a server without a preposition may be what is unknown. */
const PLACES = `${words(
  'in, on, at, by, for, to, within, auf, bei, sur, dans, en, su, nel, no, neste, nesse, op, na, w, на',
)} (?:${words(
  'this, our, the, that, my, local, diesem, diesen, unserem, unserer, dieser, ce, cette, notre, este, esta, nuestro, questo',
  'nostro, este, nosso, deze, dit, onze, ons, tym, этом, нашем',
)} )?${words(
  'domain, server, mail server, host, system, site, organization, directory, database, mysql table, my sql table, domino directory',
  'relay domain table, mail system, domäne, verzeichnis, serveur, système, domaine, servidor, sistema, dominio, domínio',
  'domein, systeem, serwerze, сервере',
)}`
const KNOWN = new RegExp(
  `(?:${[PLACES, FRAMES, NOBODY_HERE, NO_SUCH, UNKNOWN, NOUN, NO, PARTICLES, words(...Object.values(NAMED))].join('|')})`,
  'g',
)

/** The words of the clause that are not known. Ids are none. */
export function leftWords({ text, ids }: { text: string; ids: ReadonlySet<string> }): string[] {
  const left = text.replace(KNOWN, ' ').match(/[\p{L}\p{N}]+/gu) ?? []
  return left.filter((word) => !ids.has(word) && /\p{L}/u.test(word) && !/^[^\x00-\x7f]$/.test(word))
}
