import type { Phase, Verdict } from './attempt.ts'
import { classify } from './classify.ts'
import type { WireContent } from './content.ts'
import { type Failure, failureOf } from './failure.ts'
import type { Deadlines } from './limits.ts'
import { type RawReply, toReply } from './reply.ts'
import type { Session } from './session.ts'
import type { Heard } from './wire.ts'

const DATA = 'DATA\r\n'

export interface Mail {
  sender: string
  recipients: string[]
  content: WireContent
  /** As in `Delivery`, with indexes into `recipients` here. */
  beforeDot(accepted: number[]): Promise<boolean>
  deadlines: Deadlines
  commandMs: number
  signal?: AbortSignal
}

export interface Envelope {
  /** Of the recipients that were refused, each with its own reply where it had one. */
  verdicts: (Verdict | undefined)[]
  /** The server waits for the content, for the recipients without a verdict. */
  ready: boolean
  /** Why those without a verdict have none. */
  failure?: Failure
  /** Not ready, but the session can take another message. */
  reusable: boolean
}

/** MAIL, RCPT and DATA for those in `mail`. */
export async function sendEnvelope(session: Session, mail: Mail): Promise<Envelope> {
  const { pipelining, maxSize, dsn } = session.extensions
  const size = maxSize === undefined ? '' : ` SIZE=${mail.content.size}`
  // A bounce that came back with the whole message could be too large for whoever takes bounces.
  const ret = dsn ? ' RET=HDRS' : ''
  const reset = session.needsReset ? ['RSET\r\n'] : []
  const from = `MAIL FROM:<${mail.sender}>${size}${ret}\r\n`
  const to = mail.recipients.map((address) => `RCPT TO:<${address}>\r\n`)
  const verdicts: Envelope['verdicts'] = mail.recipients.map(() => undefined)
  const { ask, isReusable } = startDialogue(session, mail, [...reset, from, ...to, DATA])
  const end = (): Envelope => ({ verdicts, ready: false, reusable: isReusable() })
  const stop = (failure: Failure): Envelope => ({ verdicts, ready: false, reusable: false, failure })

  for (const command of reset) {
    const heard = await ask(command)
    if (!isYes(heard)) return stop(failureOf('mail', heard))
  }
  session.needsReset = false

  const sender = await ask(from)
  // Of a connection that was idle it says that the server was closing it already, and nothing of this message.
  if (isNo(sender) && sender.code === 421) return stop(failureOf('mail', sender))
  if (isNo(sender)) {
    verdicts.fill(verdictOf(session, 'mail', sender))
    const isOver = !pipelining || (await isRefused([...to, DATA], ask))
    return { ...end(), reusable: isOver && isReusable() }
  }
  if (!isYes(sender)) return stop(failureOf('mail', sender))
  session.needsReset = true

  for (const [i, command] of to.entries()) {
    const heard = await ask(command)
    if (isNo(heard)) verdicts[i] = verdictOf(session, 'rcpt', heard)
    else if (!isYes(heard)) return stop(failureOf('rcpt', heard))
  }
  const accepted = acceptedOf(verdicts)
  if (accepted.length === 0 && !pipelining) return end()

  const data = await ask(DATA)
  if (isNo(data)) {
    for (const i of accepted) verdicts[i] = verdictOf(session, 'data', data)
    return end()
  }
  // A server that wants the content although nobody is to get it is not given any.
  if (!isGo(data) || accepted.length === 0) return stop(failureOf('data', data))
  return { verdicts, ready: true, reusable: false }
}

type Ask = (command: string) => Promise<Heard>

/** The commands in one write where the server takes that (RFC 2920), elsewhere each when it is asked. */
function startDialogue({ wire, extensions }: Session, { deadlines, commandMs }: Mail, commands: string[]) {
  let isGoodbye = false
  if (extensions.pipelining) wire.say(commands.join(''), commands.length)
  const ask: Ask = async (command) => {
    if (!extensions.pipelining) wire.say(command, 1)
    const heard = await wire.hear(Math.min(deadlines.dotMs, performance.now() + commandMs))
    isGoodbye ||= heard.kind === 'reply' && heard.code === 421
    return heard
  }
  return { ask, isReusable: () => !isGoodbye && wire.isQuiet() }
}

/** Hears the answers to what was sent along in vain; false when the server would go on even so, or says no more. */
async function isRefused(commands: string[], ask: Ask): Promise<boolean> {
  let isLastNo = false
  for (const command of commands) {
    const heard = await ask(command)
    if (heard.kind === 'broken') return false
    isLastNo = isNo(heard)
  }
  return isLastNo
}

export function verdictOf({ host }: Session, phase: Phase, raw: RawReply): Verdict {
  const reply = toReply(raw)
  return { phase, reply, outcome: classify({ phase, reply, mx: host.name }) }
}

/** The indexes of those nobody has refused yet. */
export function acceptedOf(verdicts: Envelope['verdicts']): number[] {
  return [...verdicts.keys()].filter((i) => verdicts[i] === undefined)
}

function isYes(heard: Heard): heard is RawReply {
  return heard.kind === 'reply' && heard.code < 300
}

function isGo(heard: Heard): heard is RawReply {
  return heard.kind === 'reply' && heard.code >= 300 && heard.code < 400
}

function isNo(heard: Heard): heard is RawReply {
  return heard.kind === 'reply' && heard.code >= 400
}
