import { type CallOptions, createCall } from './call.ts'
import { domainsOf } from './domains.ts'
import { emailsOf } from './emails.ts'
import { eventsOf, messagesOf } from './events.ts'
import type { GetAccountResponse, GetLimitsResponse, GetStatsQuery, GetStatsResponse } from './gen/contract.ts'
import { suppressionOf } from './suppression.ts'
import { webhookOf } from './webhook.ts'
import { webhooksOf } from './webhooks.ts'

export type { CallOptions, KeyedOptions, Replay, SendOptions } from './call.ts'
export type { Attachment, BatchMessage, Message, RetryOptions } from './emails.ts'
export { type ErrorCode, VerdictError } from './error.ts'
// The types above take the place of the contract's own `Attachment`.
export type * from './gen/contract.ts'
export type { StreamedEvent, StreamOptions } from './stream.ts'
export { verifyWebhook, WebhookError, type WebhookEvent, type WebhookHeaders } from './verify-webhook.ts'

export interface VerdictOptions {
  /** Where the service is, such as `https://verdict.example.com`. */
  url: string
  /** An API key, `svc_live_...` or `svc_test_...`. */
  apiKey: string
  /**
   * How long one attempt of a call may take, in milliseconds. A send takes up to 30 seconds, or what the operator has
   * set. Default: 40,000.
   */
  timeoutMs?: number
  /** How often a call is retried, with pauses. Default: 2. */
  maxRetries?: number
}

/** A client of one account. */
export class Verdict {
  readonly emails: ReturnType<typeof emailsOf>
  readonly events: ReturnType<typeof eventsOf>
  readonly messages: ReturnType<typeof messagesOf>
  readonly domains: ReturnType<typeof domainsOf>
  readonly suppression: ReturnType<typeof suppressionOf>
  /** The account's first endpoint, which is enough for most. */
  readonly webhook: ReturnType<typeof webhookOf>
  /** All endpoints of the account. */
  readonly webhooks: ReturnType<typeof webhooksOf>
  /** Returns counts, rates and latencies of the emails in a period. */
  readonly stats: (query?: GetStatsQuery, options?: CallOptions) => Promise<GetStatsResponse>
  /** Returns the account, and the key that asks. */
  readonly account: (options?: CallOptions) => Promise<GetAccountResponse>
  /** Returns the limits of the account. */
  readonly limits: (options?: CallOptions) => Promise<GetLimitsResponse>

  constructor({ url, apiKey, timeoutMs = 40_000, maxRetries = 2 }: VerdictOptions) {
    if (!/^https?:\/\//.test(url ?? '')) throw new TypeError('url: required, such as https://verdict.example.com')
    if (!/^[!-~]+$/.test(apiKey ?? ''))
      throw new TypeError('apiKey: required, svc_live_... or svc_test_..., without spaces and line breaks')
    const call = createCall({ url: url.replace(/\/+$/, ''), apiKey, timeoutMs, maxRetries })
    this.emails = emailsOf(call)
    this.events = eventsOf(call)
    this.messages = messagesOf(call)
    this.domains = domainsOf(call)
    this.suppression = suppressionOf(call)
    this.webhook = webhookOf(call)
    this.webhooks = webhooksOf(call)
    this.stats = (query = {}, options) => call('getStats', { query }, options)
    this.account = (options) => call('getAccount', {}, options)
    this.limits = (options) => call('getLimits', {}, options)
  }
}
