import { DOMAIN_UNKNOWN, NO_SUCH_DOMAIN } from './lexicon.ts'
import { numbers, pattern, words } from './pattern.ts'
import { LATE_PHASES, type ReplyRule } from './rule.ts'

const HOST_UNKNOWN = words(
  'host unknown, unknown host, host not found',
  'no such host, name service error, name or service not known, nxdomain',
  'no mx',
  'no mail exchanger*, no mail server*, nullmx, null mx, does not accept mail, couldnt find any host',
  'could not find any host, couldnt find a mail exchanger, could not find a mail exchanger, dns error, dns failure, dns lookup failed',
  'unrouteable mail domain, unroutable mail domain',
  'bad host, dns domain',
  'lookup failure, unresolvable, domäne unbekannt',
  'cannot resolve, not resolve, resolve route',
  'no route for, name server reply, destination computer, no smtp service',
  'all relevant mx records point to non existent hosts',
)
const GIVEN_UP = words(
  'expired, timed out, time out, timeout, connection refused, unreachable, no route to host',
  'lost connection, retry time not reached',
  'too long, could not connect, couldnt connect, cannot connect, unable to connect',
  'failed to connect, cant connect, too old, connection dropped, connection reset, connection closed',
  'connection lost, closed connection, connection died, unable to establish, wasnt able to establish',
  'could not be established, not able to establish, delivery time, gave up',
  'no answer from host, not responding, did not respond, unable to reach, not reachable',
  'could not be reached, could not contact, delivery attempts, remained in queue, max retries',
  'undelivered for, multiple retries, queue period',
  'could not be delivered for, could not deliver for, giving up, did not accept our requests to connect',
  'socket error, was not delivered within, not been delivered within, failing for a long, been delayed, in the queue, zeitüberschreitung',
  'abgelaufen, délai dépassé, délai expiré, tiempo agotado, tempo scaduto, tempo esgotado, verlopen',
  'keine verbindung, connexion refusée, conexión rechazada, connessione rifiutata, conexão recusada',
)

/** A domain that says it takes no mail (RFC 7505). */
export const NULL_MX_RULES: readonly ReplyRule[] = [
  { name: 'null MX', subject: 'route', code: numbers('556'), reason: 'no_mx_record' },
  {
    name: 'null MX',
    subject: 'route',
    status: numbers('5.1.10'),
    text: pattern(words('nullmx, null mx, domain does not accept mail')),
    reason: 'no_mx_record',
  },
]

/** Only a late bounce speaks of the way to the server, because another server tried it. */
export const HOST_RULES: readonly ReplyRule[] = [
  {
    name: 'host unknown',
    subject: 'route',
    phases: LATE_PHASES,
    text: pattern(HOST_UNKNOWN, DOMAIN_UNKNOWN, NO_SUCH_DOMAIN),
    reason: 'no_mx_record',
    evenFor4xx: true,
  },
]

export const NOT_REACHED_RULES: readonly ReplyRule[] = [
  {
    name: 'not reached',
    subject: 'route',
    phases: LATE_PHASES,
    text: pattern(GIVEN_UP),
    reason: 'connection_timeout',
    evenFor4xx: true,
  },
]

export const ROUTE_STATUS_RULES: readonly ReplyRule[] = [
  {
    name: 'host unknown',
    subject: 'route',
    phases: LATE_PHASES,
    status: numbers('[45].(?:1.2|4.4|4.310)'),
    reason: 'no_mx_record',
    evenFor4xx: true,
  },
  {
    name: 'not reached',
    subject: 'route',
    phases: LATE_PHASES,
    status: numbers('4.4.*|5.4.(?:1|2|7|3[01][0-9])'),
    reason: 'connection_timeout',
    evenFor4xx: true,
  },
]

/** A final reply with a status of class 4 is about a time that is over. */
export const EXPIRY_RULES: readonly ReplyRule[] = [
  {
    name: 'expired',
    subject: 'route',
    code: numbers('5*'),
    status: numbers('4.*.*'),
    reason: 'connection_timeout',
  },
]
