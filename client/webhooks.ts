import type { Call, CallOptions } from './call.ts'
import type { CreateEndpointRequest, UpdateEndpointRequest } from './gen/contract.ts'

/** A lost response is the only one that shows a secret. */
const ONCE = { maxRetries: 0 }

export const webhooksOf = (call: Call) => ({
  /** Returns the account's endpoints with their health, the oldest first, without their secrets. */
  list: (options?: CallOptions) => call('listEndpoints', {}, options),

  /** Adds an endpoint, and returns the secret that signs its requests. No other call shows it. */
  create: (endpoint: CreateEndpointRequest, options?: CallOptions) =>
    call('createEndpoint', { body: endpoint }, { ...options, ...ONCE }),

  /** Returns an endpoint and its health, without the secret. */
  get: (endpointId: string, options?: CallOptions) =>
    call('getEndpoint', { path: { endpoint_id: endpointId } }, options),

  /** Changes the members that are given. `[]` removes the filter `tags`, `tenant_ids` or `domains`. */
  update: (endpointId: string, change: UpdateEndpointRequest, options?: CallOptions) =>
    call('updateEndpoint', { path: { endpoint_id: endpointId }, body: change }, options),

  /** Deletes an endpoint and its secret, and cancels the attempts that wait for it. */
  delete: (endpointId: string, options?: CallOptions) =>
    call('deleteEndpoint', { path: { endpoint_id: endpointId } }, options),

  /** Posts a signed `webhook.test` to an endpoint now and returns the outcome. */
  test: (endpointId: string, options?: CallOptions) =>
    call('testEndpoint', { path: { endpoint_id: endpointId } }, options),

  /** Creates a new secret and returns it, once. For 24 hours requests are also signed with the previous one. */
  rotateSecret: (endpointId: string, options?: CallOptions) =>
    call('rotateEndpointSecret', { path: { endpoint_id: endpointId } }, { ...options, ...ONCE }),
})
