import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import type { Address } from '../../mail/address.ts'
import type { FairTurns } from '../../net/fair-turns.ts'
import type { StoredKey } from '../access/identify.ts'
import { mayCall } from '../access/scopes.ts'
import type { Caller, KeyGate, Visitor } from '../caller.ts'
import { fail, hideUnexpected, OutcomeUnknown, reasonOf } from '../errors.ts'
import { MAX_RECIPIENTS } from '../sending/recipients.ts'
import type { RefusedSend, RefusedSends } from '../sending/refused-sends.ts'
import { type DotReply, dotReply, errorReply, ownReply } from './dot-reply.ts'
import type { FrontMail, FrontParts } from './parts.ts'
import type { RecipientAnswer, RecipientResult } from './results.ts'
import { type createSubmit, fieldsOf } from './submit.ts'

interface DoorParts {
  identify(visitor: Visitor): Promise<StoredKey | undefined>
  gate: KeyGate
  turns: FairTurns
  submit: ReturnType<typeof createSubmit>
  refusedSends: Pick<RefusedSends, 'note'>
  log: Logger
  /** Returns the keyed hash of an address, for the log. */
  hashAddress(address: string): string
  /** Called with the class of each reply to a final dot. */
  onReply?(reply: 'accepted' | 'temporary' | 'permanent' | 'closed'): void
}

const METHOD = EmailService.method.send
const tellRate = () => {}

/** What the listener asks of the service: whether a key is valid, and what became of a message. */
export function createDoor(parts: DoorParts): Pick<FrontParts, 'logIn' | 'begin' | 'deliver'> {
  const { identify, gate, log, onReply } = parts

  return {
    async logIn(login) {
      try {
        const found = await identify(visitorOf(login))
        if (found && mayCall(found.scopes, METHOD)) return { accountId: found.caller.accountId }
        throw fail('insufficient_scope', 'This API key lacks the scope "emails.send". Use a key that has it.')
      } catch (error) {
        return loginReply(error)
      }
    },

    async begin(login) {
      const known: KnownCaller = { requestId: randomUUID(), protocol: 'smtp' }
      try {
        await gate({ ...visitorOf(login), method: METHOD, tellCaller: noteIn(known) })
      } catch (error) {
        noteRefused(parts, known, error)
        const reply = beginReply(error)
        onReply?.(answerOf(reply))
        const { requestId: request_id } = known
        log.info({ request_id, method: 'SMTP', status: reply.code, error: reasonOf(hideUnexpected(error)) }, 'smtp')
        return reply
      }
    },

    deliver: (mail) => deliverMail(parts, mail),
  }
}

async function deliverMail(parts: DoorParts, mail: FrontMail): Promise<DotReply[] | undefined> {
  const { log, hashAddress, onReply } = parts
  const beganMs = performance.now()
  const known: KnownCaller = { requestId: randomUUID(), protocol: mail.isLmtp ? 'lmtp' : 'smtp' }
  const line: Record<string, unknown> = {
    request_id: known.requestId,
    method: mail.isLmtp ? 'LMTP' : 'SMTP',
    size_bytes: mail.content.length,
    recipients: mail.recipients.map(({ address, domain }) => ({ domain, hash: hashAddress(address) })),
  }
  const end = (replies: DotReply[] | undefined) => {
    for (const answer of replies?.map(answerOf) ?? ['closed' as const]) onReply?.(answer)
    const codes = [...new Set(replies?.map(({ code }) => code))]
    const status = codes.length > 1 ? codes : codes[0]
    log.info({ ...line, status, duration_ms: Math.round(performance.now() - beganMs) }, 'smtp')
    return replies
  }
  try {
    const results = await submitMail(parts, mail, known)
    const sent = results.filter((result): result is RecipientAnswer => !('error' in result))
    line.message_ids = [...new Set(sent.map(({ messageId }) => messageId))]
    line.sandbox = sent[0]?.sandbox
    for (const result of results) if ('error' in result) noteError(log, line, result.error)
    for (const { error, recipients } of refusalsOf(results)) noteRefused(parts, known, error, { mail, recipients })
    return end(mail.isLmtp ? ownReplies(mail.recipients, results) : [dotReply(results)])
  } catch (error) {
    noteError(log, line, error)
    const recipients = mail.recipients.map(({ address }) => address)
    noteRefused(parts, known, error, { mail, recipients: [...new Set(recipients)] })
    if (error instanceof OutcomeUnknown) return end(undefined)
    const reply = errorReply(error)
    return end(mail.isLmtp ? mail.recipients.map(() => reply) : [reply])
  }
}

/** The key is checked again. The message was counted at its DATA. */
async function submitMail(
  { gate, turns, submit }: DoorParts,
  { key, remoteAddress, ...mail }: FrontMail,
  known: KnownCaller,
): Promise<RecipientResult[]> {
  const visitor = visitorOf({ key, remoteAddress })
  const caller = await gate({ ...visitor, method: METHOD, isCounted: true, tellCaller: noteIn(known) })
  if (!caller) throw new Error('the gate gave this message no caller')
  const { accountId, test: sandbox } = caller
  const endWork = await turns.beginWork(accountId)
  return submit({ ...mail, accountId, sandbox, endWork }).finally(endWork)
}

/** Names an error in the line of its message, and logs one that is a fault of the service. */
function noteError(log: Logger, line: Record<string, unknown>, error: unknown): void {
  const isUnknown = error instanceof OutcomeUnknown
  const shown = hideUnexpected(error)
  line.error = isUnknown ? 'outcome_unknown' : reasonOf(shown)
  if (isUnknown || shown.cause !== undefined) log.error({ err: shown.cause ?? error }, 'unexpected fault')
}

/** Notes a message, or its part to some recipients, that ended with an error in the place of an email. */
function noteRefused(
  { refusedSends }: DoorParts,
  { caller, ...call }: KnownCaller,
  error: unknown,
  part?: RefusedPart,
): void {
  if (!caller || caller.test || error instanceof OutcomeUnknown || (part && isDryRun(part.mail))) return
  const { accountId, keyId } = caller
  const parties = part && {
    sender: part.mail.sender.address,
    recipients: part.recipients.slice(0, MAX_RECIPIENTS),
  }
  refusedSends.note({ ...call, accountId, keyId, error: hideUnexpected(error), parties })
}

/** A message whose fields cannot be read says nothing. */
function isDryRun(mail: FrontMail): boolean {
  try {
    return fieldsOf(mail).sandbox
  } catch {
    return false
  }
}

interface RefusedPart {
  mail: FrontMail
  recipients: string[]
}

interface KnownCaller extends Pick<RefusedSend, 'requestId' | 'protocol'> {
  caller?: Caller
}

const noteIn = (known: KnownCaller) => (caller: Caller) => {
  known.caller = caller
}

/** The errors in the place of emails, each with all of its recipients. */
function refusalsOf(results: readonly RecipientResult[]) {
  const refused = results.filter((result) => 'error' in result)
  return [...Map.groupBy(refused, ({ error }) => error)].map(([error, group]) => ({
    error,
    recipients: group.map(({ email }) => email),
  }))
}

/** The replies of LMTP. A recipient that was named twice has one message and two replies. */
function ownReplies(recipients: readonly Address[], results: readonly RecipientResult[]): DotReply[] {
  const replies = new Map(results.map((result) => [result.email, dotReply([result])]))
  return recipients.map(({ address }) => replies.get(address)!)
}

function visitorOf({ key, remoteAddress }: Pick<FrontMail, 'key' | 'remoteAddress'>): Visitor {
  return { authorization: `Bearer ${key}`, remoteAddress, tellRate }
}

/** The rate is that of the door, and not of the message: it has its own code. */
function beginReply(error: unknown): DotReply {
  const shown = hideUnexpected(error)
  return reasonOf(shown) === 'rate_limit_exceeded' ? ownReply(452, '4.3.2', shown.rawMessage) : errorReply(error)
}

/** A wrong key is final for its client. What may change is not. */
function loginReply(error: unknown): DotReply {
  const shown = hideUnexpected(error)
  const reason = reasonOf(shown)
  const isFinal = reason === 'invalid_api_key' || reason === 'insufficient_scope'
  return isFinal ? ownReply(535, '5.7.8', shown.rawMessage) : ownReply(454, '4.7.0', shown.rawMessage)
}

function answerOf({ code }: DotReply) {
  if (code < 400) return 'accepted'
  return code < 500 ? 'temporary' : 'permanent'
}
