import type { SenderDomain, SenderDomains } from '../domains/sender.ts'
import { fail } from '../errors.ts'

/** The domain that an account sends from. Throws `domain_not_verified` when it is not the account's. */
export async function ownDomain(senderDomains: SenderDomains, accountId: string, name: string): Promise<SenderDomain> {
  const domain = await senderDomains.find(accountId, name)
  if (domain) return domain
  throw fail(
    'domain_not_verified',
    `${name} is not a domain of this account. Add it with POST /api/v1/domains, or send from another.`,
    { fields: [{ field: 'from', message: `${name} is not a domain of this account` }] },
  )
}
