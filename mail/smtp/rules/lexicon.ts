// The words that several tables share, in the languages in which mail servers write.

import { NAMED } from '../plain-text.ts'
import { near, together, words } from './pattern.ts'

/** What a reply calls a recipient or their mailbox. */
export const NOUN = words(
  'mailbox*, mail box*, inbox, mail drop, maildrop, maildir, user, users, username, userid, recipient',
  'recipients, person, persona, recip, rcpt, rcpt to, account, accounts, address, addresses, addressee',
  'adress, alias, aliases, local part, localpart, customer, subscriber, email id, mail id, mail account',
  'email account, postfach, empfänger*, empfaenger*, benutzer*, nutzer, konto, adresse, adressat',
  'teilnehmer, boîte*, bal, destinataire*, utilisateur, compte, usager, abonné, buzón, destinatario*',
  'usuario, cuenta, dirección, casilla, casella, destinatari, utente, indirizzo, mailbox utente, caixa',
  'destinatário*, usuário, utilizador, conta, endereço, postvak, postbus, brievenbus, ontvanger, gebruiker*',
  'adres, geadresseerde, mailaccount, skrzynk*, odbiorc*, użytkownik*, schránk*, příjemce, uživatel*',
  'mailadresse, emailadresse, mailadres, emailadres, adresa, adresát*, brevlåd*, mottagare*, användare*',
  'postkass*, modtager*, bruger*, kullanıcı, alıcı, hesap, ящик, пользовател, получател, адрес, аккаунт',
  'абонент, 邮箱, 信箱, 郵箱, 邮件地址, 用户, 使用者, 收件人, 帐号, 账号, 帳號, 地址, メールボックス, ユーザー, 宛先, 受信者, アドレス, 사용자, 수신자',
)
/** The same, or the address itself. */
export const MAILBOX = `(?:${NOUN}|${words(NAMED.recipient)})`

/** What says beyond doubt that there is no such user. */
const UNKNOWN = `(?<!may )(?<!might )${words(
  'unknown, unkown, not found, notfound, not known, doesnt exist, does not exist, doesnot exist',
  'do not exist, dont exist, didnt exist, did not exist, not exist, not exists, nonexistent, non existent',
  'non existant, nonexistant, nonexist, non existing, inexistent, inexisting, cannot be found',
  'cant be found, could not be found, couldnt be found, wasnt found, was not found, not be found',
  'isnt found, no found, not recognized, not recognised, unrecognized, unrecognised, not listed',
  'not in directory, not in our directory, not in database, not in our database, not in the database',
  'isnt known, is not known, has never existed, never existed',
  'has no mailbox, has no account, have no mailbox, have no account, does not have a mailbox',
  'doesnt have a mailbox, does not have an account, doesnt have an account, unbekannt*, nicht bekannt',
  'existiert nicht, existieren nicht, nicht gefunden, nicht vorhanden, gibt es nicht, nicht existent',
  'inconnu*, non trouvé*, pas trouvé*, pas été trouvé*, pas connu*, nexiste pas, nexiste plus, introuvable*',
  'inexistant*, desconocid*, no existe, no existen, inesistent*, inexistente*, no ha sido encontrad*',
  'no fue encontrad*, no localizad*, no encontrad*, no se encuentra, no encontró, no se ha encontrado',
  'sconosciut*, non esiste, non esistente, non trovat*, non è stato trovato, desconhecid*, não existe',
  'nao existe, não encontrad*, não conhecid*, não consta, não foi localizad*, não foi encontrad*',
  'não localizad*, onbekend*, bestaat niet, bestaan niet, niet gevonden, niet bekend, nieznan*',
  'nie istnieje, nie znaleziono, neexistuje, neznám*, nenalezen*, okänd*, finns inte, ukendt, findes ikke',
  'ukjent, finnes ikke, bulunamad*, bilinmeyen, nem létezik, ismeretlen, tuntematon, не существует',
  'не найден, неизвест, нет такого, не зарегистрирован, 不存在, 未找到, 找不到, 无此, 查無, 没有找到, 存在しません, 見つかりません, 不明',
)}`

/** The same, before the noun. */
const NO_SUCH = words(
  'no such, nosuch, unknown, nonexistent, non existent, non existing, unrecognized, unrecognised',
  'dont recognize, do not recognize, unbekannt*, inconnu*, no existe*, desconocid*, non esiste*',
  'sconosciut*, não existe*, desconhecid*, nicht existierend*, onbekend*, nieznan*, neznám*, okänd, ukendt',
  'ukjent, нет такого, неизвест, 无此, 查无此, 查無此, 没有这个, 没有此, 无效',
)

/** A plain "no" must come before the noun: there may be no permission for a user. */
const NO = words(
  'there is no, there are no, kein, keine, keinen, aucun, aucune, no hay, ningún, nessun, nessuna, nenhum',
  'nenhuma, não há, geen',
)

/** Sentences that say it without one of the nouns. */
const NOBODY_HERE = words(
  'no mailbox here by that name, no mailbox by that name, no one here by that name, no one by that name',
  'no user here, no mailbox here, no account here, not our user, not our customer, not one of our customers',
  'no such person, no such local*, no such mail*, no such email, no such alias, no such addr*',
  'unknown email, unknown rcpt, unknown mail, not a valid user, not a known user, not a user here',
  'doesnt live here, unknown local*, unknown or illegal, no mailbox found, no mailbox, no mail box',
  'no one with that, empfänger unbekannt',
)

/** Names of our side: where one of them is unknown, nothing is said about the recipient. */
const NOT_OURS = `(?![^.;!]{0,40}${NAMED.us})`

/** An error or a reason that is unknown is no unknown user. */
const FAULT =
  '(?:error|errors|problem|problems|failure|reason|reasons|cause|exception|fehler|grund|erreur|raison|problema|motivo|causa|errore|erro|fout|reden)(?![a-z])'
/** Between a mailbox and what is said of it, nothing else is named that may be unknown. */
const OF_THE_MAILBOX = `(?:(?!(?<![a-z])(?:(?:host|hosts|server|servers|service|system|domain|dns|mx|record|records|sender|header|certificate|key|database|policy|${NAMED.us}|${NAMED.ourAddress})(?![a-z])|${FAULT}))[^.;!]){0,60}?`
/** Between "no such" and the mailbox there are adjectives at most. */
const ADJECTIVES = `(?:(?! (?:for|to|in|from|of|by|with|on|fur|pour|para|per|por|voor|auf|von) )(?!(?<![a-z])${FAULT})[^.;!]){0,24}?`

/** Words that say beyond doubt that there is no such user. */
export const USER_UNKNOWN = `(?:${[
  `${MAILBOX}(?: ${UNKNOWN}|${OF_THE_MAILBOX}${UNKNOWN}(?![a-z]{0,14} ${FAULT}))`,
  `(?<!${FAULT} )${NO_SUCH}${NOT_OURS}${ADJECTIVES}${MAILBOX}`,
  `${NO} (?:[a-z]{1,12} )?${MAILBOX}`,
  NOBODY_HERE,
  near(words('doesnt have a, does not have a, doesnt have an'), words('account'), 30),
  words('domain unknown recipient', `${NAMED.address} not found`, `${NAMED.recipient} not found`),
].join('|')})`

/** A sentence that leaves open whether the user is unknown. */
export const MAY_BE_UNKNOWN = `${words('may, might, perhaps, possibly, maybe, möglicherweise, vielleicht, peut être, quizá*, forse, talvez, misschien')}[^.;:!]{0,30}?${UNKNOWN}`

/** What is said of a mailbox that may come back. */
const PAUSED = words(
  'disabl*, suspend*, inactiv*, deactivat*, locked, blocked, frozen, not active, not activated, isnt active',
  'dormant, parked, not enabled, deaktiviert, gesperrt, inaktiv, nicht aktiv, désactivé*, suspendu*, inactif',
  'inactive, bloqué*, desactivad*, deshabilitad*, suspendid*, bloquead*, disabilitat*, disattivat*, sospes*',
  'inattiv*, bloccat*, non attiv*, desativad*, suspens*, inativ*, uitgeschakeld, geblokkeerd, inactief',
  'nieaktywn*, zablokowan*, неактив, отключ, заблокирован, 已停用, 被禁用, 已禁用, 冻结',
)
/** The same, and what is said of an address that the server merely does not take. */
const DISABLED = words(
  'unavailable, not available, unreachable, closed, terminat*, expired, discontinued, delet*, removed, moved',
  'no longer, cancel*, retired, left the, abandoned',
  'not local, has changed, old address, invalid, not valid, isnt valid, incorrect, illegal, malformed',
  'ambiguous, undeliverable, unrout*, not routable, may not exist, might not exist, not registered',
  'unregistered, not defined, nicht verfügbar, nicht erreichbar, ungültig*, gelöscht, nicht mehr, geschlossen',
  'indisponible, fermé*, supprimé*, invalide*, nest plus, no disponible, cerrad*, eliminad*, inválid*',
  'non disponibile, chius*, eliminat*, non valid*, indisponível, encerrad*, excluíd*, cancelad*',
  'expirad*, expirou, scadut*, expiré*',
  'niet beschikbaar, gesloten, ongeldig*, verwijderd, opgeheven, удален, недоступ, 已注销, 失效, 无效, 無效',
)
const INVALID_BEFORE = words(
  'invalid, bad, incorrect, illegal, malformed, inactive, disabled, closed, suspended, expired',
  'undeliverable, unrouteable, unroutable, unavailable, not a valid, no valid, no active, deleted',
  'ungültige*, invalide, inválid*, indirizzo non valido, ongeldig*, blocked, locked',
)
/** A name of the mailbox and a word that it does not take mail now. */
export const MAILBOX_PAUSED = `(?:${MAILBOX}${OF_THE_MAILBOX}${PAUSED}|${near(PAUSED, NOUN, 24)})`
/** A name of the mailbox and a word that it does not take mail. */
export const MAILBOX_DISABLED = `(?:${MAILBOX}${OF_THE_MAILBOX}(?:${PAUSED}|${DISABLED})|${near(INVALID_BEFORE, NOUN, 24)})`

/** What is said of a mailbox without space. */
const FULL = words(
  'full, overflow*, over quota, overquota, quota exceeded, exceeded quota, quota, out of space',
  'out of storage, out of disk, no space, no more space, insufficient space, not enough space',
  'not enough storage, insufficient storage, storage limit, storage quota, allowed storage, size limit',
  'storage space, disk space, disk quota, space exceeded, over its limit, over the limit, over limit',
  'size exceeded, size exceeds, size has been exceeded, too many messages on, too full, no room, used up',
  'space not enough, exceeds allowed, exceeds its allowed, exceeds the allowed, no more room, not enough room, insufficient room, out of room, no free space, no storage',
  'local limit, exceeded its storage, exceeded storage, exceeded the storage, exceeds the storage',
  'exceeded its limit, exceeded the size, exceeded its size, maximum size, max size, limit exceeded',
  'exhausted, has exceeded its, voll, überfüllt, ueberfuellt, übervoll, zu voll, überschritten',
  'ueberschritten, kein speicher*, speicherplatz*, kontingent, zu viele mails, zuviele mails, pleine, plein',
  'saturé*, dépassé*, quota dépassé, espace insuffisant, llen*, lleno, excedid*, sin espacio, cuota',
  'excedió, excede, pien*, superat*, esaurit*, spazio insufficiente, cheia, cheio, lotad*, excedeu, cota',
  'sem espaço, esgotad*, vol, overvol, quotum, overschreden, pełn*, przepełnion*, plná, fullt, fylld, dolu',
  'dolmuş, переполнен, превышен, 已满, 已滿, 爆满, 超出, 容量, 空间不足, 満杯, いっぱい, 容量超過',
)
/** Words that speak of quota and storage without naming the mailbox. */
const QUOTA_ALONE = words(
  'over quota, overquota, quota exceeded, quota exceed*, exceeded quota, exceed quota, exceeds quota',
  'exceeded his quota, exceeded her quota, exceeded their quota, exceeded the quota, exceeded its quota',
  'quota full, quota is full, quota violation, extended quota, quota limit, quota reached, quota excedida',
  'quota has been, quota was exceeded, quota is exceeded, disk quota, mailbox quota, storage quota',
  'over the quota, exceeded storage allocation, exceeds storage allocation, out of storage space',
  'exceeded allowed storage, exhausted allowed storage, quota überschritten, quota ueberschritten',
  'quota dépassé*, dépassement de quota, cuota excedida, excedida la cuota, superado la cuota',
  'quota superata, superato la quota, cota excedida, excedeu a cota, quota overschreden',
  'speicherplatz erschöpft, too full, mailbox full, inbox full, box full, account full, user full',
  'quota error, quotaexceed*, mailfull, mailboxfull, user has too many messages on the server',
  'insufficient space to store, speichervolumen, speicherkontingent, exceeded mailbox, espacio insuficiente',
  'kota aşıldı, spazio disponibile, spazio insufficiente, espacio disponible, espace insuffisant',
  'speicherlimit, 配额, quota, quotas, over the allowed quota, mailfolder is full, enough space',
  'enough storage',
)
export const NO_SPACE = `(?:${near(MAILBOX, FULL, 60)}|${QUOTA_ALONE}|${near(FULL, MAILBOX, 12)})`

/** A message, by the names that replies have for it. */
export const MESSAGE = words(
  'message, messages, mail, mails, email, emails, e mail, content, body, attachment*, nachricht, courriel',
  'mensaje, correo, messaggio, mensagem, bericht, e mails, datei, file, contenu, inhalt, contenido',
  'contenuto, conteúdo, inhoud, subject, письмо, сообщение, 邮件, 郵件, 信件, メール',
)

/** Words for spam and malware. */
export const SPAM = words(
  'spam*, antispam, anti spam, recurrent pattern, unsolicited, junk, junkmail, junk mail, bulk mail',
  'bulk email, phish*, scam, uce, ube, virus, viruses, malware, malicious, trojan, infected, infect*, worm',
  'eicar, gtube, spamassassin, rspamd, spam assassin, clamav, clam av, dspam, cloudmark, mcspam*, fraud*',
  'advertis*, werbung, pourriel, indésirable, publicitaire, basura, no deseado, indesiderat*, spazzatura',
  'indesejad*, ongewenst*, reklam*, niechcian*, спам, вирус, dt:spm, spm, 垃圾, 病毒, 迷惑メール, surbl, uribl, ph01',
  'ransomware, gefährlich, schadsoftware, suspected bounce',
)

/** A sentence that refuses the content, whatever else the reply names. */
export const CONTENT_JUDGED = near(
  words('message content, mail content, email content, content of your, content of the, content'),
  words('denied, rejected, refused, blocked, not allowed, not accepted, prohibited, is forbidden'),
  20,
)

const DOMAIN = words('domain, domains, domain name, domaine, dominio, domínio, domein', NAMED.recipientDomain)
/** A domain that its owner or host has closed. */
export const DOMAIN_PAUSED = near(
  DOMAIN,
  words('expired, suspended, disabled, deactivated, inactive, parked, not active, is closed, abgelaufen, expiré'),
  24,
)

/** A domain that is unknown, with no mailbox named between. */
export const DOMAIN_UNKNOWN = `${DOMAIN}(?:(?!user|recipient|mailbox|account)[^.;!]){0,40}?${UNKNOWN}`

/** The same, with the word before the domain. */
export const NO_SUCH_DOMAIN = `${words('unknown, no such, invalid, nonexistent, non existent, unbekannte')} (?:recipient |mail |email |destination |rcpt |user )?${words('domain, domains, domäne, domain name')}`

export const TOGETHER_SPAM = together(MESSAGE, SPAM)
