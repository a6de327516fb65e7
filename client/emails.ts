import { base64 } from './base64.ts'
import type { Call, CallOptions, KeyedOptions, Replay, SendOptions } from './call.ts'
import type * as contract from './gen/contract.ts'
import { itemsOf } from './pages.ts'

/** A file to attach: its content as bytes, or as base64. */
export type Attachment = Omit<contract.Attachment, 'content'> & { content: string | Uint8Array }
/** A message to send. */
export type Message = WithFiles<contract.SendRequest>
/** A message of a batch. */
export type BatchMessage = WithFiles<contract.BatchItem>

/** `raw` is a whole message: its bytes, or base64. */
type WithFiles<Request> = Omit<Request, 'attachments' | 'raw'> & {
  attachments?: Attachment[] | null
  raw?: string | Uint8Array | null
}

export interface RetryOptions extends SendOptions {
  /**
   * `message_id` of the message that this one sends again: its outcome had `retryable`. Use a new `idempotencyKey`, or
   * none. It takes the place of the message's own `retry_of`.
   */
  retryOf?: string
}

/** A batch takes up to 100 seconds, and a repeat that waits for it 110. */
const BATCH_TIMEOUT_MS = 120_000

export function emailsOf(call: Call) {
  const list = (query: contract.ListEmailsQuery = {}, options?: CallOptions) => call('listEmails', { query }, options)
  return {
    /** Sends a message and returns what the recipients' mail servers said. A bounce or a rejection is not an error. */
    send(message: Message, options: RetryOptions = {}): Promise<contract.SendResponse & Replay> {
      const { retryOf: retry_of = message.retry_of, ...rest } = options
      return call('sendEmail', { body: encoded({ ...message, retry_of }) }, rest)
    },

    /** Makes every check of a send and sends nothing. */
    validate: (message: Message, options?: KeyedOptions): Promise<contract.SendResponse & Replay> =>
      call('validateEmail', { body: encoded(message) }, options),

    /** Sends 1 to 100 messages at a time and returns a result for each, in their order. */
    async batch(messages: BatchMessage[], options?: SendOptions): Promise<contract.SendBatchResponse & Replay> {
      if (!Array.isArray(messages)) throw new TypeError('messages: must be a list, as in batch([first, second])')
      const body = { emails: messages.map(encoded) }
      return call('sendEmailBatch', { body }, { timeoutMs: BATCH_TIMEOUT_MS, ...options })
    },

    /** Returns a stored email with the outcome of every recipient and its events. */
    get: (messageId: string, options?: CallOptions) => call('getEmail', { path: { id: messageId } }, options),

    /** Returns a signed receipt of a stored email, which anyone can verify. */
    receipt: (messageId: string, options?: CallOptions) => call('getReceipt', { path: { id: messageId } }, options),

    /** Returns one page of emails, newest first. */
    list,

    /** Returns one page of the sends of the last 7 days that ended with an error, newest first. Nothing was sent. */
    refused: (query: contract.ListRefusedSendsQuery = {}, options?: CallOptions) =>
      call('listRefusedSends', { query }, options),

    /** Yields all emails that match, newest first. `limit` is the size of the pages it reads. */
    all: (query: Omit<contract.ListEmailsQuery, 'cursor'> = {}, options?: CallOptions) =>
      itemsOf(
        (cursor) => list({ ...query, cursor }, options),
        ({ emails }) => emails,
      ),
  }
}

function encoded<M extends Message>(message: M) {
  const attachments = message.attachments?.map(({ content, ...file }) => ({
    ...file,
    content: typeof content === 'string' ? content : base64(content),
  }))
  const { raw } = message
  return { ...message, attachments, raw: raw instanceof Uint8Array ? base64(raw) : raw }
}
