// The words that several tables share, in the languages in which mail servers write.

import { NAMED } from '../plain-text.ts'
import { near, together, words } from './pattern.ts'

/** What a reply calls a recipient or their mailbox. */
export const NOUNS = [
  'mailbox*, mail box*, inbox, mail drop, maildrop, user, users, username, userid, recipient',
  'recipients, person, persona, recip, rcpt, rcpt to, account, accounts, address, addresses, addressee',
  'adress, alias, aliases, local part, localpart, customer, subscriber, email id, mail id, mail account',
  'email account, postfach, empfänger*, empfaenger*, benutzer*, nutzer, konto, adresse, adressat',
  'teilnehmer, boîte*, bal, destinataire*, utilisateur, compte, usager, abonné, buzón, destinatario*',
  'usuario, cuenta, dirección, casilla, casella, destinatari, utente, indirizzo, mailbox utente, caixa',
  'destinatário*, usuário, utilizador, conta, endereço, postvak, postbus, brievenbus, ontvanger, gebruiker*',
  'adres, geadresseerde, mailaccount, skrzynk*, odbiorc*, użytkownik*, schránk*, příjemce, uživatel*',
  'mailadresse, emailadresse, mailadres, emailadres, adresa, adresát*, brevlåd*, mottagare*, användare*',
  'postkass*, modtager*, bruger*, kullanıcı, alıcı, hesap, ящик, пользовател, получател, адрес, аккаунт',
  'mottaker*, абонент, 邮箱, 信箱, 郵箱, 邮件地址, 用户, 使用者, 收件人, 帐号, 账号, 帳號, 地址, メールボックス, ユーザー, 宛先, 受信者, アドレス, 사용자, 수신자',
]
export const NOUN = words(...NOUNS)
/** The same, or the address itself. */
export const MAILBOX = `(?:${NOUN}|${words(NAMED.recipient)})`

/** What is said of a user that does not exist. */
export const UNKNOWN_WORDS = [
  'unknown, unkown, not found, notfound, not known, doesnt exist, does not exist, doesnot exist',
  'do not exist, dont exist, didnt exist, did not exist, not exist, not exists, nonexistent, non existent',
  'non existant, nonexistant, nonexist, non existing, inexistent, inexisting, cannot be found',
  'cant be found, could not be found, couldnt be found, wasnt found, was not found, not be found',
  'isnt found, no found, not recognized, not recognised, unrecognized, unrecognised, not listed',
  'not in directory, not in our directory, not in database, not in our database, not in the database',
  'isnt in our directory, is not in our directory, isnt known, is not known, has never existed, never existed',
  'has no mailbox, has no account, have no mailbox, have no account, does not have a mailbox',
  'doesnt have a mailbox, does not have an account, doesnt have an account, unbekannt*, nicht bekannt',
  'existiert nicht, existiert hier nicht, existieren nicht, nicht gefunden, nicht vorhanden, gibt es nicht, nicht existent',
  'inconnu*, non trouvé*, pas trouvé*, pas été trouvé*, pas connu*, nexiste pas, nexiste plus, introuvable*',
  'inexistant*, desconocid*, no existe, no existen, inesistent*, inexistente*, no ha sido encontrad*',
  'no fue encontrad*, no localizad*, no encontrad*, no se encuentra, no encontró, no se ha encontrado',
  'sconosciut*, non cè traccia, non esiste, non esistente, non trovat*, non è stato trovato, desconhecid*, não existe',
  'nao existe, não encontrad*, não conhecid*, não consta, não foi localizad*, não foi encontrad*',
  'não localizad*, onbekend*, bestaat niet, bestaat hier niet, bestaan niet, niet gevonden, niet bekend, nieznan*',
  'nie istnieje, nie znaleziono, neexistuje, neznám*, nenalezen*, okänd*, finns inte, ukendt, findes ikke',
  'ukjent, finnes ikke, bulunamad*, bilinmeyen, nem létezik, ismeretlen, tuntematon, не существует',
  'не найден, неизвест, нет такого, не зарегистрирован, 不存在, 未找到, 找不到, 无此, 查無, 没有找到, 存在しません, 見つかりません, 不明, 아닙니다, 존재하지 않, 없는',
]
const UNKNOWN = words(...UNKNOWN_WORDS)

/** The same, before the noun. */
export const NO_SUCH_WORDS = [
  'no such, nosuch, unknown, nonexistent, non existent, non existing, unrecognized, unrecognised',
  'dont recognize, do not recognize, unbekannt*, inconnu*, no existe*, desconocid*, non esiste*',
  'sconosciut*, não existe*, desconhecid*, nicht existierend*, onbekend*, nieznan*, neznám*, okänd, ukendt',
  'ukjent, does not know, doesnt know, do not know, dont know, нет такого, неизвест, 无此, 查无此, 查無此, 没有这个, 没有此, 无效',
]
const NO_SUCH = words(...NO_SUCH_WORDS)

/** A plain "no" must come before the noun: there may be no permission for a user. */
export const NO_WORDS = [
  'there is no, kein, keine, keinen, aucun, aucune, no hay, ningún, nessun, nessuna, nenhum',
  'nenhuma, não há, geen, nie ma takiego, nie ma takiej',
]
const NO = words(...NO_WORDS)

/** Sentences that say it without one of the nouns. */
export const NOBODY_WORDS = [
  'no account by that name, no user by that name, no user with that name, no mailbox here by that name, no mailbox by that name, no one here by that name, no one by that name',
  'no user here, no mailbox here, no account here, not our user, not our customer, not one of our customers',
  'no such person, no such local part, no such mail, no such email, no such alias, no such addr*',
  'unknown email, unknown rcpt, unknown mail, not a valid user, not a known user, not a user here',
  'doesnt live here, unknown local part, unknown or illegal, no mailbox found, no mailbox, no mail box',
  'no one with that, empfänger unbekannt',
]
const NOBODY_HERE = words(...NOBODY_WORDS)

/** Names of our side: where one of them is unknown, nothing is said about the recipient. */
const NOT_OURS = `(?![^.;!]{0,40}${NAMED.us})`

/** An error or a reason that is unknown is no unknown user. */
const FAULT =
  '(?:error|errors|problem|problems|failure|reason|reasons|cause|exception|fehler|grund|erreur|raison|problema|motivo|causa|errore|erro|fout|reden)(?![a-z])'
/** Between a mailbox and what is said of it, nothing else is named that may be unknown, and nothing else is said. */
const OF_THE_MAILBOX = `(?:(?!(?<![a-z])(?:(?:host|hosts|server|servers|service|system|domain|dns|mx|record|records|sender|header|certificate|key|policy|${NAMED.us}|${NAMED.ourAddress})(?![a-z])|reject|refus|denied|blocked|geweigerd|timed|invalid|${FAULT}))[^.;!]){0,60}?`
/** Between "no such" and the mailbox there are adjectives at most. */
const ADJECTIVES = `(?:(?! (?:for|to|in|from|of|by|with|on|fur|pour|para|per|por|voor|auf|von) )(?!(?<![a-z])${FAULT})[^.;!]){0,24}?`

/** An email that does not exist is an address. */
const EMAIL = `${words('this, that, the, such, diese, cet, este, questa, esse, deze')} ${words('email, mail, correo, courriel')}`

/** There is no such user. Whether this is said without doubt, the other words of the clause decide. */
export const USER_UNKNOWN = `(?:${[
  `(?:${MAILBOX}|${EMAIL})(?: ${UNKNOWN}|${OF_THE_MAILBOX}${UNKNOWN}(?![a-z]{0,14} ${FAULT}))`,
  `(?:(?<!${FAULT} )${NO_SUCH}${NOT_OURS}${ADJECTIVES}|${NO} (?:[a-z]{1,12} )?)${MAILBOX}(?! ${FAULT})`,
  NOBODY_HERE,
  near(words('doesnt have a, does not have a, doesnt have an'), words('account'), 30),
  words(`${NAMED.address} not found`),
].join('|')})`

/** What is said of a mailbox that may come back. */
const PAUSED = words(
  'disabl*, suspend*, inactiv*, deactivat*, locked, frozen, not active, not activated, isnt active',
  'dormant, parked, not enabled, deaktiviert, inaktiv, nicht aktiv, désactivé*, inactif',
  'desactivad*, deshabilitad*, disabilitat*, disattivat*, sospes*',
  'inattiv*, non attiv*, desativad*, suspens*, inativ*, uitgeschakeld, inactief',
  'nieaktywn*, неактив, отключ, 已停用, 被禁用, 已禁用, 冻结',
)
/** The same, and what is said of an address that the server merely does not take. */
const DISABLED = words(
  'unavailable, not available, unreachable, closed, terminat*, discontinued, delet*, removed, moved',
  'stillgelegt, no longer, cancel*, retired, left the, has left, abandoned',
  'not local, has changed, old address, not valid, isnt valid, incorrect, illegal, malformed',
  'ambiguous, undeliverable, unrout*, not routable, not registered',
  'unregistered, not defined, nicht verfügbar, nicht erreichbar, ungültig*, gelöscht, nicht mehr, geschlossen',
  'indisponible, fermé*, supprimé*, nest plus, no disponible, cerrad*, eliminad*, inválid*',
  'non disponibile, chius*, eliminat*, non valid*, indisponível, encerrad*, excluíd*',
  'expirad*, expirou, scadut*, expiré*',
  'niet beschikbaar, gesloten, ongeldig*, verwijderd, opgeheven, удален, недоступ, 已注销, 失效, 无效, 無效',
)
const INVALID_BEFORE = words(
  'bad, incorrect, illegal, malformed, inactive, disabled, closed, suspended, expired',
  'undeliverable, unrouteable, unroutable, unavailable, not a valid, no valid, no active, deleted',
  'ungültige*, inválid*, ongeldig*, locked',
)
/** The mailbox was closed. These words may also mean a policy. */
export const MAILBOX_BLOCKED = near(
  words(
    'user, account, mailbox, subscriber, konto, postfach, benutzer*, compte, boîte*, utilisateur, cuenta, buzón',
    'casella, utente, conta, caixa, usuário, postvak, gebruiker, skrzynka, ящик',
    'пользовател, аккаунт, 用户, 账号, 邮箱',
  ),
  words(
    'blocked, locked, banned, gesperrt, blockiert, bloqué*, bloccat*, geblokkeerd, zablokowan*',
    'заблокирован, 禁用, 冻结, 被禁, 封禁',
  ),
  14,
)

/** What is said of a mailbox that does not take this message, for whatever reason. */
const REFUSED = words(
  'reject*, refus*, declin*, not, no, cannot, cant, couldnt, wont, unable, fail*, error*, bad',
  'problem*, undeliver*, impossible, kein*, nicht, abgelehnt, zurückgewiesen, fehlgeschlagen, pas, aucun*',
  'rejet*, échou*, rechaz*, falló, respint*, rifiutat*, fallit*, recusad*, rejeitad*, falhou, niet, geen',
  'odrzuc*, odmítnut*, avvis*, reddedildi, отклон, не принят, 拒',
)
/** A mailbox as subject or object of the refusal. */
export const MAILBOX_REFUSED = `(?:${near(NOUN, REFUSED, 40)}|${near(REFUSED, NOUN, 40)})`

/** A name of the mailbox and a word that it does not take mail. */
export const MAILBOX_DISABLED = `(?:${MAILBOX}${OF_THE_MAILBOX}(?:${PAUSED}|${DISABLED})|${near(INVALID_BEFORE, NOUN, 24)})`

/** What is said of a mailbox without space. */
const FULL = words(
  'full, overflow*, overfull, out of space, out of storage, out of disk, no space, no more space',
  'insufficient space, free space, enough space, available space, space left',
  'insufficient storage, no storage, storage left, enough storage, storage limit, allowed storage',
  'storage capacity, at capacity, its capacity, reached capacity, capacity exceeded, size limit',
  'storage space, disk space, space exceeded, over its limit, over the limit, over limit, reached its limit',
  'reached its maximum, reached the limit, reached its storage, reached its size, hit its limit, limit reached',
  'limit has been reached, 100%, 99%, used up, size exceeded, size exceeds, size has been exceeded',
  'too many messages on, no room, no more room, not enough room, insufficient room, out of room',
  'space not enough, exceeds allowed, exceeds its allowed, exceeds the allowed, local limit, exceeded its storage',
  'exceeded storage, exceeded the storage, exceeds the storage, exceeded its limit, exceeded the size',
  'exceeded its size, maximum size, max size, limit exceeded, exhausted, has exceeded its, cannot store, no longer store',
  'voll, überfüllt, ueberfuellt, übervoll, überschritten, ueberschritten, kein speicher*, keinen speicher*',
  'keinen platz, kein platz, speicherplatz*, limit erreicht, grenze erreicht, größe erreicht, kapazität*',
  'ausgeschöpft, erschöpft, zu viele mails, zuviele mails',
  'pleine, plein, saturé*, dépassé*, espace insuffisant, limite atteinte, atteint sa limite, atteint la limite',
  'atteint sa capacité, limite de stockage, plus de place, plus espace, épuisé, capacité maximale',
  'llen*, excedid*, sin espacio, excedió, excede, superado, alcanzado su, alcanzado el, límite alcanzado, no tiene espacio, agotad*',
  'límite de almacenamiento, pien*, superat*, esaurit*, spazio insufficiente, raggiunto il, raggiunto la, limite raggiunto',
  'cheia, cheio, lotad*, excedeu, sem espaço, esgotad*, atingiu o, atingiu seu, limite atingido',
  'vol, overvol, overschreden, limiet bereikt, geen ruimte, onvoldoende ruimte, heeft zijn limiet',
  'pełn*, pełen, przepełnion*, limit osiągnięty, brak miejsca, plná, plný, fullt, fylld, dolu, dolmuş',
  'переполнен, превышен, заполнен, нет места, 已满, 已滿, 爆满, 超出, 容量, 空间不足, 満杯, いっぱい, 一杯, 가득',
)
export const QUOTA = words(
  'quota*, overquota, kontingent*, speicherkontingent, cuota*, cota, cotas, quotum, kota, 配额',
)
/** Words that speak of storage without naming the mailbox. */
const STORAGE_ALONE = words(
  'exceeded storage allocation, exceeds storage allocation, out of storage space, exceeded allowed storage',
  'exhausted allowed storage, mailfull, mailboxfull, speichervolumen, speicherlimit, speicherplatz erschöpft',
  'insufficient space to store, exceeded mailbox, espacio insuficiente, espacio disponible, espace insuffisant',
  'spazio disponibile, spazio insufficiente, mailfolder is full, box full',
  'enough space to store',
)
/** A mailbox without space, or a mailbox and its quota. */
export const MAILBOX_FULL = `(?:${near(MAILBOX, `${FULL}|${QUOTA}`, 60)}|${near(`${FULL}|${QUOTA}`, MAILBOX, 24)})`
/** The same without the mailbox. */
export const NO_SPACE = `(?:${QUOTA}|${STORAGE_ALONE})`

/** Words for spam and malware. */
export const SPAM = words(
  'spam*, antispam, recurrent pattern, unsolicited, junk, junkmail, bulk mail',
  'bulk email, phish*, scam, uce, ube, virus, viruses, malware, malicious, trojan, infect*, worm',
  'eicar, gtube, rspamd, clamav, clam av, dspam, cloudmark, mcspam*, fraud*',
  'advertis*, werbung, pourriel, indésirable, publicitaire, basura, no deseado, indesiderat*, spazzatura',
  'indesejad*, ongewenst*, reklam*, niechcian*, спам, вирус, spm, 垃圾, 病毒, 迷惑メール, surbl, uribl, ph01',
  'ransomware, gefährlich, schadsoftware, suspected bounce',
)

/** A sentence that refuses the content, whatever else the reply names. */
export const CONTENT_JUDGED = near(
  words('content'),
  words('denied, rejected, refused, blocked, not allowed, not accepted, prohibited, is forbidden'),
  20,
)

const DOMAIN = words('domain, domains, domaine, domínio, domein', NAMED.recipientDomain)
/** A domain that its owner or host has closed. */
export const DOMAIN_PAUSED = near(
  DOMAIN,
  words('expired, suspended, disabled, deactivated, inactive, parked, not active, is closed, abgelaufen, expiré'),
  24,
)

/** A domain that is unknown, with no mailbox named between. */
export const DOMAIN_UNKNOWN = `${DOMAIN}(?:(?!user|recipient|mailbox|account)[^.;!]){0,40}?${UNKNOWN}`

/** The same, with the word before the domain. */
export const NO_SUCH_DOMAIN = `${words('unknown, no such, invalid, nonexistent, non existent, unbekannte')} (?:recipient |mail |email |destination |rcpt |user )?${words('domain, domains, domäne')}`

/** A link in the message that is on a list. */
export const LINKS_LISTED = together(
  words('surbl, uribl, url, urls, uri, uris, link, links'),
  words('listed, block list, blocklist*, black list, blacklist*, spam*, phish*, malware'),
)
