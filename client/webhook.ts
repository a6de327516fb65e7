import type { Call, CallOptions } from './call.ts'
import type { PutWebhookRequest } from './gen/contract.ts'

/** A second rotation ends the secret before the last one, and a lost response is the only one that shows a secret. */
const ONCE = { maxRetries: 0 }

export const webhookOf = (call: Call) => ({
  /** Returns the endpoint and its health, without the secret. */
  get: (options?: CallOptions) => call('getWebhook', {}, options),

  /** Sets the endpoint. The first call returns the secret that signs requests, and no other call shows it. */
  set: (endpoint: PutWebhookRequest, options?: CallOptions) =>
    call('putWebhook', { body: endpoint }, { ...options, ...ONCE }),

  /** Deletes the endpoint and its secret, and cancels waiting attempts. */
  delete: (options?: CallOptions) => call('deleteWebhook', {}, options),

  /** Posts a signed `webhook.test` to the endpoint now and returns the outcome. */
  test: (options?: CallOptions) => call('testWebhook', {}, options),

  /** Creates a new secret and returns it, once. For 24 hours requests are also signed with the previous one. */
  rotateSecret: (options?: CallOptions) => call('rotateWebhookSecret', {}, { ...options, ...ONCE }),
})
