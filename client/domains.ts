import type { Call, CallOptions } from './call.ts'
import type { CreateDomainRequest, UpdateDomainRequest } from './gen/contract.ts'

export const domainsOf = (call: Call) => ({
  /** Returns all domains of the account, ordered by name. */
  list: (options?: CallOptions) => call('listDomains', {}, options),

  /** Adds a domain and returns the DNS records to publish. The same name again returns the same domain. */
  create: (domain: CreateDomainRequest, options?: CallOptions) => call('createDomain', { body: domain }, options),

  /** Returns a domain with its records and what DNS contained at the last check. */
  get: (domainId: string, options?: CallOptions) => call('getDomain', { path: { id: domainId } }, options),

  /** Changes settings of a domain. Absent fields keep their values. */
  update: (domainId: string, changes: UpdateDomainRequest, options?: CallOptions) =>
    call('updateDomain', { path: { id: domainId }, body: changes }, options),

  /** Deletes a domain and its DKIM keys. */
  delete: (domainId: string, options?: CallOptions) => call('deleteDomain', { path: { id: domainId } }, options),

  /** Checks DNS now and returns what it contained. */
  verify: (domainId: string, options?: CallOptions) => call('verifyDomain', { path: { id: domainId } }, options),

  /** Creates the next DKIM key and returns its record among those to publish. */
  rotateDkim: (domainId: string, options?: CallOptions) => call('rotateDkim', { path: { id: domainId } }, options),
})
