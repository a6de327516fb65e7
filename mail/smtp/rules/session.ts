import { near, numbers, pattern, words } from './pattern.ts'
import type { ReplyRule } from './rule.ts'

const MANY = words('too many, number of, maximum, max, limited to, only, trop de')
const THINGS = words(
  'recipient*, rcpts, rcpt, rcpttos, messages, mails, emails, connections, sessions, commands, errors',
  'transactions, deliveries, empfänger, destinataires, destinatarios, destinatari, verbindungen',
)
const PER_SESSION = words(
  'per message, per session, per connection, per transaction, per mail, per email, this session',
  'this connection, this message, this transaction, one session, one connection, in a session, smtp session',
  'single connection, single session, pro nachricht, pro verbindung, par message, par connexion',
  'por mensaje',
)
/** A time to wait: `try again in 5 minutes`. */
const WAIT =
  '(?:again|retry|wait|back|later|resend|reconnect|after) (?:in |for |after )?(?:at least |about )?(?:an? |the |one )?(?:few |couple of |some |\\d{1,4} )?'
/** A number for a span of time, or for a sender, is a rate. */
export const SPAN = `(?<!${WAIT})${words(
  'hour, hours, hourly, day, days, daily, minute, minutes, min, second, seconds, 24h, 24 h, today',
  'recently, week, stunde, tag, heure, jour, hora, ora, giorno, dia, uur',
)}`
/** Replies about this session or transaction, named as such. They say nothing about a recipient. */
export const SESSION_RULES: readonly ReplyRule[] = [
  {
    name: 'too many',
    subject: 'session',
    text: pattern(
      near(MANY, near(THINGS, PER_SESSION, 24), 24),
      near(words('limit, limits, maximum'), PER_SESSION, 30),
      near(
        words('limit, exceeded'),
        words('for this connection, in this connection, for this session, for this message'),
        30,
      ),
      words('too many recipients, too many rcpts, too many rcpt, too many concurrent*, too many connections'),
      words('too many sessions, too many simultaneous*, too many open connections, too many commands'),
      words('too many transactions, too much recipients, maximum recipients'),
      words(
        'too many smtp sessions, too many errors, too many messages in this, max connections',
        'trop de destinataires',
      ),
      words('recipient count exceeds, recipients limit, recipient limit, number of recipients, trop de connexions'),
      words('concurrent connections, simultaneous connections, zu viele empfänger, zu viele verbindungen'),
      words('demasiados destinatarios, troppi destinatari, muitos destinatários, te veel ontvangers'),
      words('too many hops this session, connection limit exceeded'),
    ),
    reason: 'temporary_failure',
  },
]

export const SEQUENCE_RULES: readonly ReplyRule[] = [
  {
    name: 'sequence',
    subject: 'session',
    text: pattern(
      words(
        'multiple destination domains, domains per transaction, no valid recipients, need rcpt, rcpt first, bad sequence, need mail command, need mail before, out of sequence, nested mail',
      ),
    ),
    reason: 'temporary_failure',
  },
]

/** Asked after the rows about the sender: servers refuse relaying with this status too. */
export const SESSION_STATUS_RULES: readonly ReplyRule[] = [
  {
    name: 'too many',
    subject: 'session',
    status: numbers('[45].5.3'),
    reason: 'temporary_failure',
  },
]
