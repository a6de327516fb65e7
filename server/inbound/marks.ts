import type { Parts } from './mime-parts.ts'
import { noticeOf } from './notice.ts'

/** From a mail system, not from a person or a program of theirs. */
const SYSTEM_SENDER =
  /mailer-?daemon|mail-?daemon|postmaster|mail ?delivery|mail ?system|system ?administrator|maildelivery|microsoftexchange|mail administrator|bounce|mdaemon|mailmaster|mailadmin|mail-?agent|mailer@|mta@|smtp@|<>|post_office|qmail|admin|no-?reply@/i
const SYSTEM_SUBJECT =
  /undeliver|undelivered|not delivered|user unknown|deliver(?:y|ing)? (?:status|fail|has failed|problem|error|report|of|incomplete|notification)|mail delivery|returned mail|return(?:ing|ed) (?:to|message)|failure notice|fail(?:ed|ure)|mail failure|message you sent blocked|non-? ?deliver|not be delivered|couldn.?t be delivered|could not be sent|rejected|unzustell|nicht zugestellt|zustell|remise|non remis|échec|echec|no se (?:ha )?(?:pudo|podido)|no entreg|no se puede entregar|devuelto|mancat[ao] (?:consegna|recapito)|non consegnat|impossibile|n[ãa]o (?:foi )?entreg|falha|devolvid|niet bezorg|onbestelbaar|недостав|возвращ|не (?:удалось|может быть) достав|niedostarcz|nie (?:udało|można|dostarcz)|nedoruč|nelze doručit|inte levereras|olevererb|ikke leveres|toimittamat|ei voitu toimittaa|kézbesíthetetlen|nem kézbesíth|teslim edilemedi|iletilemedi|nelivrat|반송|退信|无法|配信|エラー|error|address not found/i
const AUTO_REPLY_SUBJECT =
  /out of (?:the )?office|vacation|auto(?:matic)?[- ]?(?:reply|response|antwort)|autoreply|autoresponder|abwesen|absen(?:ce|t)|r[ée]ponse automatique|automatische|fuori (?:sede|ufficio)|risposta automatica|respuesta autom|ausente|ausencia|aus[êe]ncia|resposta autom|afwezig|holiday|urlaub|cong[ée]s|automatyczna odpowied|nieobecn|poza biurem|automatická odpověď|nepřítomn|frånvaro|autosvar|fravær|automaattinen vastaus|automatikus válasz|otomatik yanıt|автоответ|자동 ?(?:응답|회신)|自动回复|自動回覆|自動応答|不在/i
const DELAY =
  /\bdelayed\b|\bdelay\b|warning: (?:could not|message)|will be retried|will keep trying|will continue to (?:try|attempt)|still (?:being )?(?:retried|trying)|do not need to (?:resend|do anything)|no action is required|this is a warning message only|not yet been delivered|has not been delivered yet|delivery attempts will continue|verzögert|wird weiter versucht|retardé|retraso|ritard|vertraag|opóźnion|zpožděn|försena|forsink|задерж|遅延|延迟|temporary problem delivering/i
const DONE =
  /success(?:ful|fully)? deliver|delivered successfully|successfully (?:delivered|relayed|sent)|was relayed|has been relayed|delivery notification.{0,20}success|return receipt|read receipt|was (?:displayed|read)|delivery confirmation|your message was read/i
const CHALLENGE =
  /confirm (?:that )?(?:you|your)|verify (?:that you|your (?:e-?mail|address))|challenge|whitelist your/i

/**
 * The subject, up to the colon after a mark of a mail system: in `Undeliverable: Please confirm your address`, the
 * sender of the message wrote the rest.
 */
function ownSubject({ header }: Parts): string {
  const subject = header('subject')
  const mark = SYSTEM_SUBJECT.exec(subject)
  const colon = mark ? subject.indexOf(':', mark.index + mark[0].length) : -1
  return colon < 0 ? subject : subject.slice(0, colon)
}

/** A reply that a mailbox sends by itself, and not its mail system. */
export function isAutoReply(parts: Parts): boolean {
  const { header, text } = parts
  if (AUTO_REPLY_SUBJECT.test(ownSubject(parts))) return true
  if (header('x-autoreply') || header('x-autorespond') || header('x-vacation')) return true
  if (/auto_?-?reply/i.test(header('precedence'))) return true
  const isAutomatic = /auto-replied/i.test(header('auto-submitted'))
  return isAutomatic && !header('x-failed-recipients') && !SYSTEM_SENDER.test(header('from')) && text !== undefined
}

/** A notice of a mail system about a delivery that is not over, or that succeeded. */
export function isNoFailure(parts: Parts): boolean {
  const subject = ownSubject(parts)
  const beginning = `${subject}\n${noticeOf(parts.text).join('\n').slice(0, 3_000)}`
  return DELAY.test(beginning) || DONE.test(beginning) || CHALLENGE.test(subject)
}

const SYSTEM_TEXT =
  /(?:did not reach|could not be delivered to|cannot be delivered to|was not delivered to|не может быть доставлено|не доставлено|could not deliver (?:your )?(?:mail|message)|unable to deliver|wasn.?t able to deliver|delivery (?:to|has failed)|undeliverable to|failed recipients?|did not receive this message|送信できませんでした|配信できませんでした|konnte nicht zugestellt|n.a pas pu être|no se pudo entregar|non è stato possibile|não (?:foi possível|pôde))/i

/** Two of the marks of a mail system: who writes, what about, and what the text says. */
export function isFromMailSystem({ header, text }: Parts): boolean {
  if (header('x-failed-recipients') !== '') return true
  if (text.startsWith('Hi. This is the ')) return true
  const marks = [
    SYSTEM_SENDER.test(header('from') || '<>'),
    SYSTEM_SUBJECT.test(header('subject')),
    SYSTEM_TEXT.test(text.slice(0, 3_000)),
  ]
  return marks.filter(Boolean).length >= 2
}
