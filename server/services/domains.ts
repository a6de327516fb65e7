import type { ServiceImpl } from '@connectrpc/connect'
import type { DomainService, Domain as Message } from '../../gen/verdict/v1/domains_pb.ts'
import type { Requester } from '../access/audit/change-as.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { accountOf } from '../caller.ts'
import { eq } from '../db/drizzle.ts'
import { parsePublicId } from '../db/ids.ts'
import { domains } from '../db/schema.ts'
import { one } from '../db/statement.ts'
import {
  changeSettings,
  createDomain,
  type Domain,
  deleteDomain,
  findDomain,
  findDomainById,
  listDomains,
} from '../domains/domains.ts'
import { readSendingDomain } from '../domains/name.ts'
import { makeNextDkimKey } from '../domains/rotation.ts'
import { fail, failField } from '../errors.ts'
import type { Backend } from './backend.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import { createShowDomains } from './shown-domains.ts'

/** The most domains of an account: List domains returns all of them in one response. */
const MAX_DOMAINS = 1_000
/** The most key creations and DNS checks that run at a time for one account, in this process. */
const MAX_CONCURRENT = 5
const RETRY_SECONDS = 2

interface DomainServiceParts extends Backend {
  /** Checks a domain in DNS and stores the result, unless another check of it has started within the last 5 s. */
  verifyNow(domainId: string): Promise<void>
}

export function createDomainService(parts: DomainServiceParts): ServiceImpl<typeof DomainService> {
  const { db, verifyNow } = parts
  const show = createShowDomains(parts)
  const limited = createConcurrencyLimit(MAX_CONCURRENT, RETRY_SECONDS)

  const shown = async (domain: Domain): Promise<Message> => one(await show(domain.accountId, [domain]))

  /** Reads the domain with this id. Throws `not_found` when the account has none. */
  async function readOwn(accountId: string, id: string): Promise<Domain> {
    const uuid = parsePublicId('dom', id)
    const domain = uuid && (await findDomainById(db, uuid))
    if (domain && domain.accountId === accountId) return domain
    throw fail('not_found', 'There is no such domain in this account.')
  }

  async function add(name: string, requiresTls: boolean | undefined, requester: Requester): Promise<Domain> {
    const { accountId } = requester
    const isNew = !(await findDomain(db, accountId, name))
    if (isNew && (await db.$count(domains, eq(domains.accountId, accountId))) >= MAX_DOMAINS) {
      throw failField(
        'domain',
        `is one too many: the account has ${MAX_DOMAINS}. Delete those that send nothing any more`,
      )
    }
    const create = () => createDomain(parts, { accountId, name, status: 'pending', requiresTls, requester })
    return isNew ? limited(accountId, create) : create()
  }

  function checkPool(pool: string): void {
    const names = Object.keys(parts.limits.pools)
    if (names.includes(pool)) return
    throw failField(
      'pool',
      names.length > 0 ? `must be one of ${names.join(', ')}` : 'must be absent: there are no pools',
    )
  }

  return {
    async listDomains(_, context) {
      const accountId = accountOf(context)
      return { domains: await show(accountId, await listDomains(db, accountId)) }
    },

    async createDomain({ domain, requireTls }, context) {
      const parsed = readSendingDomain(domain)
      if ('fault' in parsed) throw failField('domain', parsed.fault)
      return shown(await add(parsed.name, requireTls, requesterOf(context.values)))
    },

    async getDomain({ id }, context) {
      return shown(await readOwn(accountOf(context), id))
    },

    async updateDomain({ id, requireTls: requiresTls, pool }, context) {
      const domain = await readOwn(accountOf(context), id)
      if (pool) checkPool(pool)
      const settings = {
        ...(requiresTls !== undefined && { requiresTls }),
        ...(pool !== undefined && { pool: pool === '' ? null : pool }),
      }
      if (Object.keys(settings).length === 0) return shown(domain)
      await changeSettings(db, domain.id, settings, requesterOf(context.values))
      return shown({ ...domain, ...settings })
    },

    async deleteDomain({ id }, context) {
      await deleteDomain(db, (await readOwn(accountOf(context), id)).id, requesterOf(context.values))
      return {}
    },

    async verifyDomain({ id }, context) {
      const accountId = accountOf(context)
      const domain = await readOwn(accountId, id)
      await limited(accountId, () => verifyNow(domain.id))
      return shown(await readOwn(accountId, id))
    },

    async rotateDkim({ id }, context) {
      const accountId = accountOf(context)
      const domain = await readOwn(accountId, id)
      await limited(accountId, () => makeNextDkimKey(parts, domain.id, requesterOf(context.values)))
      return shown(await readOwn(accountId, id))
    },
  }
}
