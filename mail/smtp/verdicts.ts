import { domainOf } from '../address.ts'
import type { Phase, Verdict } from './attempt.ts'
import { classify, decidingSentence } from './classify.ts'
import type { KnownNames } from './plain-text.ts'
import { type RawReply, toReply } from './reply.ts'
import type { Session } from './session.ts'

// What a reply of a transaction means for its recipients.

/** The names of a message that a reply may have. */
interface Named {
  sender: string
  from?: readonly string[]
  recipients: readonly string[]
}

export function verdictOf({ host }: Session, phase: Phase, raw: RawReply, names?: KnownNames): Verdict {
  const reply = toReply(raw)
  return { phase, reply, ...classify({ phase, reply, mx: host.name, names }) }
}

/** The names that a reply may have for us and for the recipient. */
export function namesIn({ ourNames }: Session, { sender, from, recipients }: Named, recipient?: number): KnownNames {
  return {
    recipient: recipient === undefined ? undefined : recipients[recipient],
    ours: [...ourNames, sender, domainOf(sender), ...(from ?? [])],
  }
}

/** The most that a refused transaction may cause. */
const MOST_ALONE = 10
const MOST_BYTES_ALONE = 50 * 1024 * 1024

export interface SharedRefusal {
  verdicts: Map<number, Verdict>
  /** The recipients that get their own transaction. Their verdicts hold when there is no time for it. */
  alone: number[]
}

/** The server was not asked for this recipient alone. It says nothing about the recipient, so it has no kind. */
const NOT_ASKED_ALONE: Pick<Verdict, 'outcome' | 'reading'> = {
  outcome: { kind: 'bounced', reason: 'temporary_failure', retryable: true },
  reading: { subject: 'session', row: 'not asked alone' },
}

/**
 * What a refusal of DATA or of the dot means for each of the accepted recipients. It is for all of them, and one that
 * is about a mailbox is often about one of them. So it holds for those whose address it names, and nothing is known of
 * the others yet.
 */
export function judgeRefusal(
  session: Session,
  mail: Named & { content: { size: number } },
  phase: 'data' | 'dot',
  raw: RawReply,
  accepted: readonly number[],
): SharedRefusal {
  const verdicts = new Map(accepted.map((i) => [i, verdictOf(session, phase, raw, namesIn(session, mail, i))]))
  const isShared = accepted.length > 1 && raw.code >= 400 && [...verdicts.values()].some(isAboutMailbox)
  if (!isShared) return { verdicts, alone: [] }
  const most = Math.min(MOST_ALONE, Math.floor(MOST_BYTES_ALONE / mail.content.size))
  const alone: number[] = []
  for (const [i, verdict] of verdicts) {
    const names = namesIn(session, mail, i)
    const named = raw.lines
      .filter((line) => isNamedIn(line, names.recipient))
      .map((line) => verdictOnNamed(session, { ...raw, lines: [line] }, phase, names))
      .find((found) => found !== undefined)
    verdicts.set(i, { ...verdict, ...(named ?? NOT_ASKED_ALONE) })
    if (!named && alone.length < most) alone.push(i)
  }
  return { verdicts, alone }
}

const isAboutMailbox = ({ reading }: Pick<Verdict, 'reading'>) =>
  reading?.subject === 'mailbox' || reading?.subject === 'space'

/** What a line says about a mailbox, if the sentence that decides has the recipient's whole address. */
function verdictOnNamed({ host }: Session, line: RawReply, phase: Phase, names: KnownNames) {
  const placed = { phase, reply: toReply(line), mx: host.name, names }
  const { outcome, reading } = classify(placed)
  const sentence = decidingSentence(placed) ?? placed.reply.text
  return isAboutMailbox({ reading }) && isNamedIn(sentence, names.recipient) ? { outcome, reading } : undefined
}

/** Whether the whole address is there, in any case, and not inside a longer one. */
function isNamedIn(text: string, address = ''): boolean {
  const words = text.split(/[\s<>"'(),:;[\]]+/).map((word) => word.replace(/[.?!]+$/, '').toLowerCase())
  return address !== '' && words.includes(address.toLowerCase())
}
