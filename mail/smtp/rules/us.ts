import { NAMED } from '../plain-text.ts'
import {
  CONTENT_JUDGED,
  DOMAIN_PAUSED,
  DOMAIN_UNKNOWN,
  NO_SPACE,
  NO_SUCH_DOMAIN,
  SPAM,
  USER_UNKNOWN,
} from './lexicon.ts'
import { near, pattern, together, words } from './pattern.ts'
import { RECIPIENT_PHASES, type ReplyPhase, type ReplyRule } from './rule.ts'
import { SPAN } from './session.ts'

const LIVE: readonly ReplyPhase[] = ['rcpt', 'data', 'dot']

const SENDER = words(
  'sender, senders, sending domain, sending address, sender domain, mail from, mailfrom, envelope from',
  'from address, from addresses, from header, header from, from field, from domain, return path, returnpath',
  'reverse path, originator, your domain, your account, your username, your address, your email address',
  'your e mail address, your mail address, envelope sender, badmailfrom, spoof*, impersonat*, forged',
  'sending account, sending user, sending mailbox, address you used, your outgoing*, blocked you',
  'forgery, responsible address, absender*, ihre domain, ihre adresse, ihr konto, votre compte, su cuenta',
  'tuo account, sua conta, uw account, expéditeur*, expediteur*, émetteur',
  'votre domaine, votre adresse, remitente*, su dominio, mittente, mittenti, tuo dominio, suo dominio',
  'remetente*, seu domínio, afzender*, verzender, uw domein, nadawc*, odesílatel*, avsändare*, gönderen',
  'return address, reply address, reply to address, errors to, bounce address, address in from, you wrote from',
  'you are not, you have no, dont know you, do not know you, not know you',
  'origin address, source address, originating address, herkunftsadresse, quelladresse, from adresse, adresse envoi',
  'adresse origine, dirección de origen, dirección de envío, su dirección, tu dirección, indirizzo di origine',
  'tuo indirizzo, suo indirizzo, endereço de origem, seu endereço, adres van herkomst, uw adres, uw mailadres',
  'ihrer adresse, ihres kontos, ihrem konto, sie sind nicht, vous nêtes pas, usted no, non sei, você não, u bent niet',
  'feladó, отправител, 发件人, 寄件人, 寄件者, 發件人, 送信者, 差出人, 발신자',
)
/** A sender who is only told what to do. */
const TO_SENDER = words(
  'returned to sender, return to sender, back to sender, returned to the sender, returning to sender',
  'back to the sender, returning message to sender, undelivered mail returned, relay recipient',
)

const HOST = words(
  'your ip, your ips, your host, your hostname, your host name, your server, your mail server, your mta',
  'your network, your isp, your system, your mailserver, your provider, client host, client address',
  'client ip, ip address, ip addresses, ipaddress, source ip, sending ip, sender ip, connecting ip',
  'remote ip, ip range, this ip, ip reputation, ip frequency, ip name, sending mta*, sending server',
  'sending host, sending mail server, connecting host, connecting server, connecting client, the client',
  'reverse, inverse, inversa, inverso, reversa, reverso, omgekeerd*, rückwärts*, rdns, fcrdns, ptr, ptr record, helo, ehlo',
  'dynamic ip, dynamic ips, dial up, dialup, residential, deine ip, ihre ip, ihr server, ihr mailserver',
  'votre ip, votre serveur, adresse ip, su ip, su servidor, dirección ip, tuo ip, suo ip, tuo server',
  'indirizzo ip, seu ip, seu servidor, endereço ip, uw ip, uw server, ip adres, ip adresse, adres ip',
  'ваш ip, ip адрес, ip地址, ip in, ip不',
  `client ${NAMED.ip}`,
  `from ${NAMED.ip}`,
  `ip ${NAMED.ip}`,
  `address ${NAMED.ip}`,
  `customer ${NAMED.ip}`,
  `customers ${NAMED.ip}`,
  `host ${NAMED.ip}`,
)
/** A host that another server could not reach is the recipient's. */
const NOT_CONNECTED = words(
  'mail exchanger or ip address, target ip address, connection refused, timed out, could not connect, unable to connect, no route to host',
)
const DNS = words(
  'dns mx, a aaaa, aaaa record, aaaa resource, resource record, address record, dns check, dns record*',
  'dns lookup, dns error, domain may not exist, domain does not resolve, mx record*, dns failure',
  'nameserver*, unresolvable, cannot resolve, could not resolve, no dns, dns',
)

const LISTED = words(
  'black list, black lists, black listed, blacklist*, block list, blocklist*, block listed, deny list',
  'denylist*, dnsbl, dnsbls, dnsrbl, rbl, rbls, rbldns, spamhaus, spamcop, sorbs, uceprotect, abuseat, cbl',
  'sbl, xbl, pbl, dbl, senderscore, sender score, senderbase, reputation, barracuda reputation',
  'barracudacentral, invaluement, mailspike, bad rep, ers rbl, ers dul, ers qil, trendmicro, psbl, bl ip',
  'schwarze* liste, sperrliste, blockliste, blacklists, liste noire, lista negra, lista nera, zwarte lijst',
  'réputation, reputación, reputazione, reputação, reputatie, черн, 黑名单, 黑名單, 信誉',
  NAMED.blockList,
)
const IS_LISTED = `(?<!not )${words('listed in, listed on, listed at, listed by, is listed, are listed')}`
/** A list of links in messages, or a directory of users. */
const OTHER_LISTS = words('surbl, uribl, url, urls, uri, uris, link, links, not listed, directory')

const AUTHENTICATION = words(
  'spf, dkim, dmarc, arc, senderid, sender id, authentication, authenticate, authenticated, unauthenticated',
  'not authorized, not authorised, unauthorized, unauthorised, not authorize, isnt authorized',
  'certificate*, not authentic, arent authorized, smtp auth, auth required, auth first, must login, must log in',
  'log in first, login first, pop before smtp, check mail first, must authenticate, issue a starttls',
  'tls required, tls is required, encryption required, encryption needed, requires tls, require tls',
  'no tls, without tls, tls needed, login user, smtp user, user agent, requires encryption, authentifizier*, authentification, authentifi*, autenticación, autentic*',
  'authenticatie, autoryzac*, nicht autorisiert, non autorisé*, no autorizado, non autorizzato',
  'não autorizado, niet geautoriseerd, аутентификац, 认证, 验证',
)

const RELAYING = words(
  'relay, relayed, relaying, relays, open relay, relay access, rcpthosts, rcpt hosts, not a gateway',
  'we do not serve, do not accept mail for, dont accept mail for, not accept mail for',
  'accept mail for this domain, not hosted here, not handled here, domain not handled, domain not local',
  'not a local domain, no local domain, not served here, domain not served, not responsible for',
  'we dont handle mail, we do not handle, dont handle mail, cannot deliver mail for',
  'can not deliver mail for, not allowed to send mail to this domain, domain isnt allowed',
  'domain is not allowed, domain not found here, domain not accepted, domain not allowed, relais, relayage',
  'weiterleitung nicht, weiterleitungs*, retransmi*, reenvío, relé, inoltro, doorsturen',
  'not for this domain, domain not configured, domain not hosted, domain isnt in, ретранс, релей',
)

const RATE = words(
  'rate limit*, ratelimit*, rate limited, rate exceeded, message rate, sending rate, throttl*, too quickly',
  'too fast, too frequently, too often, frequency, frequency limited, sending limit*, sending quota',
  'send quota, sender quota, daily quota, hourly quota, daily limit, hourly limit, outbound quota',
  'relay quota, relay sending, sender limit, sender rate, message limit, volume, excessive, unusual',
  'unexpected volume, user complaints, complaints, complaint rate, at a rate, receiving mail at',
  'receiving mail too, too much mail, has sent to, sent too many, sending too many, too many messages from',
  'too many mails from, too many emails from, send limit, too many spams, too many spam, burst, flood*',
  'bandwidth, traffic, trop rapide, zu schnell, zu oft, demasiado rápido, recipient daily limit',
  'limit for the number of messages, more messages than, slow down, tarpit*, rate control, rate policy',
  'connection rate, messages per hour, limite d envoi, limite envoi, límite de envío, 频率, 頻率',
)
const OUR_QUOTA = near(
  words('quota exceeded, quota of, quota for, limit exceeded, limit of, limit for'),
  words(NAMED.us, NAMED.ourAddress),
  6,
)
const LIMIT_PER_SPAN = near(words('too many, limit, limits, quota, exceed*, maximum, max, number of'), SPAN)

const BAD = words(
  'bad, invalid, unknown, unrecognized, unrecognised, failed, nonexistent, non existent, wrong, dead',
  'incorrect, rejected, illegal, nonexisting, undeliverable, ungültige*, invalides, inválid*, inconnus',
  'unbekannte*, not existing, inexistent*, inesistent*, sconosciuti, desconocid*, desconhecid*, onbekende',
)
const RECIPIENTS = words(
  'recipient*, user*, rcpt*, address*, mailbox*, local parts, empfänger*, destinat*, usuari*, adress*, utilisateur*',
  'utenti, gebruikers, ontvangers',
)
const MANY_RECIPIENTS = words(
  'recipients, rcpts, users, addresses, mailboxes, utilisateurs, destinataires, usuarios, destinatarios, utenti',
  'destinatari, usuários, destinatários',
)
const BAD_RECIPIENT = `(?:${near(BAD, RECIPIENTS, 16)}|${near(MANY_RECIPIENTS, BAD, 4)})`
/** How many recipients were bad. */
const BAD_RECIPIENTS = [
  together(
    words(
      'threshold, exceed*, too many, too much, too large a share, many, mostly, excessive number of, number of, maximum',
      'ratio, percentage, percent, rate of, limit reached, limit for, limit of, zu viele, trop, te veel, troppi',
      'demasiados, muitos',
    ),
    BAD_RECIPIENT,
    16,
  ),
  near(BAD_RECIPIENT, words('limit, limits, rate, ratio, threshold'), 4),
  words('your recipients, harvest*, dictionary attack*'),
]

/** Refusals that give a policy, and no other subject. */
const REFUSAL = words(
  'blocked, block, blocking, blocks, denied, deny, denies, policy, policies, prohibit*, forbidden, banned',
  'ban, not permitted, not allowed, disallowed, grey list*, greylist*, gray list*, graylist*, suspicious',
  'filter, filtered, filters, filtering, firewall, administrative*, administratively, security, not welcome',
  'not wanted, unwanted, do not accept, does not accept, dont accept, doesnt accept, abuse, abusive',
  'only accepts, only accept, restrict*, whitelist*, allow list, not trusted, untrusted, moderat*, spam*',
  'batv, not verified, subscribed, this list, only accepting, not accepting mail with, rule imposed',
  'syntax error, fully qualified, preferences, refuses, user rules, multiple addresses, different address',
  'rejected by, refused by, refused to receive, refused to accept, client refused, access refused, service refused, mail refused, message refused',
  'members only, not a member, internal use, internal only, send only, unsubscribed, challenge, not want your, starttls',
  'gesperrt, blockiert, geblockt, richtlinie*, verweigert, verboten, nicht erlaubt, nicht gestattet',
  'unerwünscht, politique, interdit*, bloqué*, non autorisé*, política, políticas, bloquead*, denegad*',
  'prohibid*, restricción, bloccat*, negato, vietat*, proibid*, negad*, beleid, geblokkeerd, geweigerd',
  'niet toegestaan, zablokowan*, odmow*, zamítnut*, запрещ, заблокирован, отказано, 拒绝, 拒絕, 禁止, 策略',
)
/** The texts of RFC 5321 4.2.3 for 550 and 553 mention policy and permission as examples. */
const STANDARD_TEXT = words('mailbox name not allowed, no access or command rejected, mailbox name invalid')

/** A mailbox that its server has closed, in a word that also stands for a policy. */
const BLOCKED_MAILBOX = near(
  words(
    'user, account, mailbox, subscriber, konto, postfach, benutzer*, compte, boîte*, utilisateur, cuenta',
    'buzón, usuario, casella, utente, conta, caixa postal, caixa, usuário, postvak, gebruiker, skrzynka, ящик',
    'пользовател, аккаунт, 用户, 账号, 邮箱',
  ),
  words(
    'blocked, locked, banned, gesperrt, blockiert, bloqué*, bloquead*, bloccat*, geblokkeerd, zablokowan*',
    'заблокирован, 禁用, 冻结, 被禁, 封禁',
  ),
  14,
)

/** Replies about the sender: names, host, authentication, rate, reputation. They never count against an address. */
export const US_RULES: readonly ReplyRule[] = [
  {
    name: 'bad recipients',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(...BAD_RECIPIENTS),
    reason: 'policy_block',
  },
  {
    name: 'sender',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(SENDER, near(words(NAMED.us), words('doesnt have, does not have, has no'), 4)),
    unless: pattern(TO_SENDER),
    reason: 'policy_block',
  },
  {
    name: 'our address',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(words(NAMED.ourAddress)),
    unless: pattern(words(NAMED.recipient), TO_SENDER, SPAM),
    reason: 'policy_block',
  },
  {
    name: 'our name',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(words(NAMED.us)),
    unless: pattern(USER_UNKNOWN, NO_SPACE, SPAM),
    reason: 'policy_block',
  },
  {
    name: 'host',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(HOST),
    unless: pattern(NOT_CONNECTED),
    reason: 'policy_block',
  },
  { name: 'DNS', subject: 'us', phases: LIVE, text: pattern(DNS), reason: 'policy_block' },
  // GMX and web.de say so of the sender, beside the text of RFC 5321 about a mailbox.
  {
    name: 'DNS',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(words('invalid dns, null mx record')),
    reason: 'policy_block',
  },
  {
    name: 'block list',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(LISTED, IS_LISTED),
    unless: pattern(OTHER_LISTS),
    reason: 'policy_block',
  },
  {
    name: 'authentication',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(AUTHENTICATION),
    reason: 'policy_block',
  },
  {
    name: 'relaying',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(RELAYING),
    unless: pattern(
      words('relay recipient'),
      near(words('unknown in, not found in, not listed in'), words('table'), 24),
    ),
    reason: 'policy_block',
  },
  {
    name: 'domain',
    subject: 'us',
    phases: LIVE,
    text: pattern(DOMAIN_UNKNOWN, NO_SUCH_DOMAIN, DOMAIN_PAUSED),
    reason: 'policy_block',
  },
  {
    name: 'rate',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(RATE, LIMIT_PER_SPAN, OUR_QUOTA),
    unless: pattern(words('on the server, storage, over quota, disk quota, too much mail stored')),
    reason: 'policy_block',
  },
]

/** A server that could not look the recipient up has not judged it. */
const SERVER_TROUBLE = words(
  'internal error, internal server error, internal problem, ldap, cannot look up, could not look up',
  'unable to look up, lookup error, lookup failure, lookup failed, database error, database unavailable',
  'database is unavailable, directory error, directory unavailable, cannot verify recipient',
  'could not verify recipient, unable to verify recipient, interner fehler, erreur interne, error interno',
  'errore interno, erro interno, interne fout, server busy, system busy, server is busy, system is busy, too busy',
  'server too busy, service unavailable, service not available, service is unavailable, system error, overloaded',
  'server error, database, mysql, sql, disk full, disk is full, out of memory, left on device, read only file*',
  'queue file*, write error, pipelining error',
  'service temporarily, service currently, service is temporarily, service is currently',
  'system failure, maintenance, timed out, timeout, connection refused, could not connect, cannot connect',
  'unable to connect, host down, host is down, server down, server is down, backend, i o error, input output error',
)

/** Asked after the rows about the message: a policy may be about its content. */
export const POLICY_RULES: readonly ReplyRule[] = [
  {
    name: 'server trouble',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(SERVER_TROUBLE),
    unless: pattern(USER_UNKNOWN, NO_SPACE),
    reason: 'policy_block',
  },
  {
    name: 'policy',
    subject: 'us',
    phases: RECIPIENT_PHASES,
    text: pattern(REFUSAL, CONTENT_JUDGED),
    unless: pattern(USER_UNKNOWN, NO_SPACE, STANDARD_TEXT, BLOCKED_MAILBOX),
    reason: 'policy_block',
  },
]
