import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { DomainService, Domain as Message, UpdateDomainRequest } from '../../gen/verdict/v1/domains_pb.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { accountOf } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { parsePublicId } from '../db/ids.ts'
import { one } from '../db/statement.ts'
import {
  changeSettings,
  createDomain,
  type Domain,
  deleteDomain,
  findDomain,
  findDomainById,
  listDomains,
  refuseWithoutRoom,
} from '../domains/domains.ts'
import { readSendingDomain } from '../domains/name.ts'
import { makeNextDkimKey } from '../domains/rotation.ts'
import { fail, failField } from '../errors.ts'
import type { Backend } from './backend.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import { createShowDomains } from './shown-domains.ts'

/** The most key creations and DNS checks that run at a time for one account, in this process. */
const MAX_CONCURRENT = 5
const RETRY_SECONDS = 2

interface DomainServiceParts extends Backend {
  /** Checks a domain in DNS and stores the result, unless another check of it has started within the last 5 s. */
  verifyNow(domainId: string, accountId: string): Promise<void>
}

export function createDomainService(parts: DomainServiceParts): ServiceImpl<typeof DomainService> {
  const { db, verifyNow } = parts
  const show = createShowDomains(parts)
  const limited = createConcurrencyLimit(MAX_CONCURRENT, RETRY_SECONDS)
  const shown = async (domain: Domain): Promise<Message> => one(await show(domain.accountId, [domain]))
  const shownAfter = async (context: HandlerContext, id: string, work: (domainId: string) => Promise<unknown>) => {
    const accountId = accountOf(context)
    const domain = await readOwn(db, accountId, id)
    await limited(accountId, () => work(domain.id))
    return shown(await readOwn(db, accountId, id))
  }
  return {
    async listDomains(_, context) {
      const accountId = accountOf(context)
      return { domains: await show(accountId, await listDomains(db, accountId)) }
    },
    async createDomain({ domain, requireTls: requiresTls }, { values }) {
      const name = readName(domain)
      const requester = requesterOf(values)
      const { accountId } = requester
      const create = () => createDomain(parts, { accountId, name, status: 'pending', requiresTls, requester })
      if (await findDomain(db, accountId, name)) return shown(await create())
      // Before a key is made. Whether there still is room then, the transaction of the domain decides.
      await refuseWithoutRoom(db, { accountId, name })
      return shown(await limited(accountId, create))
    },
    getDomain: async ({ id }, context) => shown(await readOwn(db, accountOf(context), id)),
    async updateDomain(request, context) {
      const domain = await readOwn(db, accountOf(context), request.id)
      const settings = readSettings(request, Object.keys(parts.limits.pools))
      if (Object.keys(settings).length === 0) return shown(domain)
      await changeSettings(db, domain.id, settings, requesterOf(context.values))
      return shown({ ...domain, ...settings })
    },
    async deleteDomain({ id }, context) {
      await deleteDomain(db, (await readOwn(db, accountOf(context), id)).id, requesterOf(context.values))
      return {}
    },
    verifyDomain: ({ id }, context) => shownAfter(context, id, (domainId) => verifyNow(domainId, accountOf(context))),
    rotateDkim: ({ id }, context) =>
      shownAfter(context, id, (domainId) => makeNextDkimKey(parts, domainId, requesterOf(context.values))),
  }
}

function readName(domain: string): string {
  const parsed = readSendingDomain(domain)
  if ('fault' in parsed) throw failField('domain', parsed.fault)
  return parsed.name
}

/** Reads the domain with this id. Throws `not_found` when the account has none. */
async function readOwn(db: Database, accountId: string, id: string): Promise<Domain> {
  const uuid = parsePublicId('dom', id)
  const domain = uuid && (await findDomainById(db, uuid))
  if (domain && domain.accountId === accountId) return domain
  throw fail('not_found', 'There is no such domain in this account.')
}

/** The settings that a request changes. An empty pool means none. */
function readSettings({ requireTls: requiresTls, pool }: UpdateDomainRequest, pools: string[]) {
  if (pool && !pools.includes(pool)) {
    const message = pools.length > 0 ? `must be one of ${pools.join(', ')}` : 'must be absent: there are no pools'
    throw failField('pool', message)
  }
  return { ...(requiresTls !== undefined && { requiresTls }), ...(pool !== undefined && { pool: pool || null }) }
}
