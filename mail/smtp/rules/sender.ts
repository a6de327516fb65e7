import { NAMED } from '../plain-text.ts'
import { CONTENT_JUDGED, DOMAIN_PAUSED, DOMAIN_UNKNOWN, NO_SUCH_DOMAIN, NOUN, QUOTA } from './lexicon.ts'
import { near, numbers, pattern, together, words } from './pattern.ts'
import { LIVE_PHASES, type ReplyRule, senderRow } from './rule.ts'
import { SPAN } from './session.ts'

/** What a reply calls the sender. */
export const SENDER = words(
  'sender, senders, sending domain, sending address, mail from, mailfrom, envelope from',
  'from address, from addresses, from header, header from, from field, from domain, return path, returnpath',
  'originator, your domain, your account, your username, your address, your email address',
  'your e mail address, your mail address, your mailbox, your user, your organization, your tenant, badmailfrom, spoof*, impersonat*, forged',
  'sending account, sending user, sending mailbox, address you used, your outgoing*, blocked you',
  'forgery, responsible address, absender*, ihre domain, ihre adresse, ihr konto, votre compte, su cuenta',
  'tuo account, sua conta, uw account, expediteur*, émetteur',
  'votre domaine, votre adresse, remitente*, su dominio, mittente, mittenti, tuo dominio, suo dominio',
  'remetente*, seu domínio, afzender*, verzender, uw domein, nadawc*, odesílatel*, avsändare*, gönderen',
  'return address, reply address, errors to, bounce address, address in from, you wrote from',
  'you are not, you have no, dont know you, not know you',
  'origin address, source address, originating address, herkunftsadresse, quelladresse, from adresse, adresse envoi',
  'adresse origine, dirección de origen, dirección de envío, su dirección, tu dirección, indirizzo di origine',
  'tuo indirizzo, suo indirizzo, endereço de origem, seu endereço, adres van herkomst, uw adres, uw mailadres',
  'ihrer adresse, ihres kontos, ihrem konto, sie sind nicht, vous nêtes pas, usted no, non sei, você não, u bent niet',
  'feladó, отправител, 发件人, 寄件人, 寄件者, 發件人, 送信者, 差出人, 발신자',
)

/** What the sender is not, or may not do: it is no word about a mailbox that a user is not found in a white list. */
const ADMITTED = words(
  'white list, whitelist*, white listed, allow list, allowlist*, allowed to, permitted to, authorized to, authorised to',
  'sending from, send from, used to send, writing from, write from, for you, von ihnen, that sent, which sent, user allowed, users allowed',
  'liste blanche, lista blanca, lista bianca, lista branca, witte lijst, weiße liste, weißen liste, biała lista',
  'белый список, белом списке, 白名单, 白名單',
)

/** Our address, unless the recipient is named beside it: `from <sender> to <recipient>`. */
const OUR_ADDRESS = `(?<!${NAMED.recipient}[^.;!:]{0,20})${words(NAMED.ourAddress)}(?![^.;!]{0,40}${NAMED.recipient})`

const OUR_IP = words(
  'your ip, your ips, ip address, ip addresses, ipaddress, dynamic ip, dynamic ips, deine ip, ihre ip, votre ip',
  'adresse ip, su ip, dirección ip, tuo ip, suo ip, indirizzo ip, seu ip, endereço ip, uw ip, ip adres, ip adresse',
  'adres ip, ваш ip, ip адрес, ip地址',
)
const HOST = words(
  'your host, your hostname, your server, your mail server, your mta',
  'your network, your system, your mailserver, client host, client address',
  'client ip, customer ip, source ip, sending ip, connecting ip',
  'remote ip, ip range, this ip, ip name, sending mta*, sending server',
  'sending host, sending mail server, connecting host, connecting server, connecting client, the client',
  'reverse, inverse, inversa, inverso, reversa, reverso, omgekeerd*, rückwärts*, rdns, fcrdns, ptr, helo, ehlo',
  'dial up, dialup, residential, ihr server, ihr mailserver, votre serveur, su servidor, tuo server, seu servidor',
  'uw server, ip in, ip不',
  `client ${NAMED.ip}`,
  `from ${NAMED.ip}`,
  `ip ${NAMED.ip}`,
  ...['is', 'was', 'has', 'not', 'unknown', 'blocked', 'rejected', 'refused'].flatMap((said) =>
    ['address', 'customer', 'customers', 'host'].map((whose) => `${whose} ${NAMED.ip} ${said}`),
  ),
)
const DNS = words(
  'a aaaa, aaaa record, aaaa resource, resource record, address record',
  'domain does not resolve, mx record*',
  'nameserver*, unresolvable, cannot resolve, could not resolve, dns',
)

const LISTED = words(
  'black list, black lists, black listed, blacklist*, block list, blocklist*, block listed, deny list',
  'denylist*, delist*, unblock*, dnsbl, dnsbls, dnsrbl, rbl, rbls, rbldns, spamhaus, spamcop, sorbs, uceprotect, abuseat, cbl',
  'sbl, xbl, pbl, dbl, senderscore, sender score, senderbase',
  'barracudacentral, invaluement, mailspike, bad rep, ers dul, ers qil, trendmicro, psbl, bl ip',
  'schwarze* liste, sperrliste, liste noire, lista negra, lista nera, zwarte lijst',
  'réputation, reputación, reputazione, reputação, reputatie, черн, 黑名单, 黑名單, 信誉',
  NAMED.blockList,
)
const IS_LISTED = `(?<!not )${words('listed in, listed on, listed at, listed by, is listed, are listed')}`

const AUTHENTICATION = words(
  'spf, dkim, dmarc, arc, senderid, sender id, authentication, authenticate, authenticated, unauthenticated',
  'not authorized, not authorised, unauthorized, unauthorised, not authorize, isnt authorized',
  'certificate*, not authentic, arent authorized, sasl, smtp auth, auth required, auth first, must login, must log in',
  'log in first, login first, pop before smtp, check mail first, issue a starttls',
  'tls required, tls is required, encryption required, encryption needed, requires tls, require tls',
  'no tls, without tls, tls needed, login user, smtp user, user agent, requires encryption, authentifi*, autentic*',
  'authenticatie, autoryzac*, nicht autorisiert, non autorisé*, no autorizado, non autorizzato',
  'não autorizado, niet geautoriseerd, аутентификац, 认证, 验证',
)

const RELAYING = words(
  'relay, relayed, relaying, relays, rcpthosts, rcpt hosts, not a gateway',
  'we do not serve, dont accept mail for, not accept mail for',
  'accept mail for this domain, not hosted here, not handled here, domain not handled, domain not local',
  'not a local domain, no local domain, not served here, domain not served, not responsible for',
  'we do not handle, dont handle mail, cannot deliver mail for',
  'can not deliver mail for, domain isnt allowed',
  'domain is not allowed, domain not found here, domain not accepted, domain not allowed, relais, relayage',
  'weiterleitung nicht, weiterleitungs*, retransmi*, reenvío, relé, inoltro, doorsturen',
  'not for this domain, domain not configured, domain not hosted, domain isnt in, ретранс, релей',
)

const RATE = words(
  'rate limit*, ratelimit*, rate exceeded, message rate, sending rate, throttl*, too quickly',
  'too fast, too frequently, too often, frequency, sending limit*, sending quota',
  'send quota, sender quota, daily quota, hourly quota, daily limit, hourly limit, outbound quota',
  'relay sending, sender limit, sender rate, message limit, volume, excessive, unusual',
  'complaints, complaint rate, at a rate, receiving mail at',
  'receiving mail too, too much mail from, too much mail to, has sent to, sending too many, too many messages from',
  'too many mails from, too many emails from, send limit, too many spams, too many spam, too many attempts, burst, flood*',
  'bandwidth, traffic, trop rapide, zu schnell, zu oft, demasiado rápido',
  'limit for the number of messages, more messages than, slow down, tarpit*, rate control, rate policy',
  'connection rate, messages per hour, limite d envoi, limite envoi, límite de envío, 频率, 頻率',
)
const OUR_QUOTA = near(
  words('quota exceeded, quota of, quota for, limit exceeded, limit of, limit for'),
  words(NAMED.us, NAMED.ourAddress),
  6,
)
const LIMIT_PER_SPAN = near(words('too many, limit, limits, quota, exceed*, maximum, max, number of'), SPAN)

const OTHERS = words(
  'queue, connection, connections, ip, rate, message, messages, hour, hourly, day, daily, tenant, organization, api, outgoing, license',
  'organisation, spool, server, resource, resources, inbound, outbound, smtp, relay, transaction',
)
/** A quota of something else than a mailbox. */
const OTHER_QUOTA = [
  near(OTHERS, QUOTA, 16),
  `${QUOTA}(?: (?:is |was )?(?:exceeded|reached|full))? (?:of|for|on|per) (?:this |the |our |your )?(?:${OTHERS}|${words('recipients, accounts, users')})`,
]

const BAD = words(
  'bad, unknown, unrecognized, unrecognised, failed, nonexistent, non existent, wrong, dead',
  'incorrect, illegal, nonexisting, undeliverable, ungültige*, inválid*, inconnus',
  'unbekannte*, not existing, inexistent*, inesistent*, sconosciuti, desconocid*, desconhecid*, onbekende',
)
const RECIPIENTS = words(
  'recipient*, user*, rcpt*, address*, mailbox*, local parts, empfänger*, destinat*, usuari*, adress*, utilisateur*',
  'utenti, gebruikers, ontvangers',
)
const MANY_RECIPIENTS = words(
  'recipients, rcpts, users, addresses, mailboxes, utilisateurs, destinataires, utenti',
  'destinatari, usuários, destinatários',
)
const BAD_RECIPIENT = `(?:${near(BAD, RECIPIENTS, 16)}|${near(MANY_RECIPIENTS, BAD, 4)})`
/** How many recipients were bad. */
const BAD_RECIPIENTS = [
  together(
    words(
      'threshold, exceed*, too much, too large a share, many, mostly, number of, maximum',
      'ratio, percentage, percent, rate of, limit reached, limit for, limit of, zu viele, trop, te veel, troppi',
      'demasiados, muitos',
    ),
    BAD_RECIPIENT,
    16,
  ),
  near(BAD_RECIPIENT, words('limit, limits, rate'), 4),
  words('your recipients, harvest*, dictionary attack*'),
]

/** Refusals that give a policy, and no other subject. */
const REFUSAL = words(
  'blocked, block, blocking, blocks, denied, deny, denies, policy, policies, prohibit*, forbidden, banned',
  'ban, not permitted, not allowed, disallowed, suspicious',
  'filter, filtered, filters, filtering, firewall, administrative*, security, not welcome',
  'not wanted, unwanted, do not accept, does not accept, dont accept, doesnt accept, abuse, abusive',
  'only accepts, only accept, restrict*, not trusted, untrusted, moderat*, spam*',
  'batv, not verified, subscribed, this list, only accepting, not accepting mail with, rule imposed',
  'syntax error, fully qualified, preferences, refuses, user rules, multiple addresses, different address',
  'rejected by, refused by, refused to receive, refused to accept, client refused, access refused, service refused, mail refused, message refused',
  'members only, not a member, internal use, internal only, send only, unsubscribed, challenge, not want your, starttls',
  'gesperrt, blockiert, geblockt, richtlinie*, verweigert, verboten, nicht erlaubt, nicht gestattet',
  'unerwünscht, politique, interdit*, bloqué*, non autorisé*, política, políticas, denegad*',
  'prohibid*, restricción, bloccat*, negato, vietat*, proibid*, negad*, beleid, geblokkeerd, geweigerd',
  'niet toegestaan, zablokowan*, odmow*, zamítnut*, запрещ, заблокирован, отказано, 拒绝, 拒絕, 禁止, 策略',
)
/** A number of bad recipients, and a rate, are the sender's, whatever is counted. */
export const RATE_RULES: readonly ReplyRule[] = [
  {
    name: 'bad recipients',
    subject: 'sender',
    text: pattern(...BAD_RECIPIENTS),
    reason: 'policy_block',
  },
  {
    name: 'rate',
    subject: 'sender',
    text: pattern(LIMIT_PER_SPAN, near(words('sent'), words('too many'), 20)),
    reason: 'policy_block',
  },
]

/** Asked before the rows that judge the message: spam that a host has sent before is no judgement on this message. */
export const REPUTATION_RULES: readonly ReplyRule[] = [
  senderRow('block list', { text: pattern(LISTED, IS_LISTED) }),
  senderRow('authentication', { text: pattern(AUTHENTICATION) }),
  senderRow('rate', { text: pattern(RATE, OUR_QUOTA) }),
  senderRow('host', { text: pattern(OUR_IP) }),
]

/** Replies about the sender: names, host, relaying. They never count against an address. */
export const SENDER_RULES: readonly ReplyRule[] = [
  senderRow('sender', {
    text: pattern(
      SENDER,
      ADMITTED,
      `${words('reply to')} ${NOUN}`,
      `${NAMED.us} ?: ?(?=[a-z])`,
      near(words(NAMED.us), words('doesnt have, does not have, has no'), 4),
    ),
  }),
  senderRow('our address', { text: pattern(OUR_ADDRESS) }),
  senderRow('host', { text: pattern(HOST) }),
  senderRow('DNS', { phases: LIVE_PHASES, text: pattern(DNS) }),
  // GMX and web.de say so of the sender, beside the text of RFC 5321 about a mailbox.
  senderRow('DNS', { text: pattern(words('invalid dns, null mx record')) }),
  senderRow('relaying', { text: pattern(RELAYING) }),
]

export const DOMAIN_RULES: readonly ReplyRule[] = [
  senderRow('domain', { phases: LIVE_PHASES, text: pattern(DOMAIN_UNKNOWN, NO_SUCH_DOMAIN, DOMAIN_PAUSED) }),
]

/** A quota of the sender's, or of the server. */
export const QUOTA_RULES: readonly ReplyRule[] = [
  senderRow('quota', { code: numbers('(?!5[25]2)*'), text: pattern(...OTHER_QUOTA) }),
]

const GREYLISTING = words('grey list*, greylist*, gray list*, graylist*')

/** A server that could not look the recipient up has not judged it. */
const SERVER_FAULT = [
  near(
    words('database, mysql, sql, ldap, lookup, look up, backend, disk, datenbank, base de données'),
    words(
      'error, errors, failure, failed, down, unavailable, not available, busy, full, timeout, timed out',
      'unreachable, fehler, erreur, maintenance, did not complete',
    ),
    20,
  ),
  near(words('error, failure, fehler, erreur'), words('database, mysql, sql, ldap, lookup, backend'), 12),
  words(
    'internal error, internal problem, cannot look up, could not look up, unable to look up, cannot verify recipient',
    'could not verify recipient, unable to verify recipient, interner fehler, erreur interne, error interno',
    'errore interno, erro interno, interne fout, too busy, service unavailable, service not available',
    'service is unavailable, overloaded, read only file*, queue file*',
    'write error, pipelining error, service temporarily, service currently, service is temporarily',
    'server error, server busy, server is busy, server down, server is down, server unavailable',
    'system error, system busy, system is busy, system failure, service is currently, maintenance, i o error, input output error',
  ),
]
const NO_CONNECTION = words(
  'timed out, timeout, connection refused, could not connect, cannot connect, unable to connect, host down, host is down',
)

/** Asked before the rows about the mailbox: a user may be unknown because of the fault. */
export const FAULT_RULES: readonly ReplyRule[] = [
  senderRow('server trouble', { phases: LIVE_PHASES, text: pattern(...SERVER_FAULT) }),
]

/** Asked after the rows about the mailbox: servers name a policy beside a user that they do not know. */
export const POLICY_RULES: readonly ReplyRule[] = [
  senderRow('greylisting', { text: pattern(GREYLISTING) }),
  senderRow('server trouble', { text: pattern(NO_CONNECTION, ...SERVER_FAULT) }),
  senderRow('our name', { text: pattern(words(NAMED.us)) }),
  senderRow('policy', { text: pattern(REFUSAL, CONTENT_JUDGED) }),
]
