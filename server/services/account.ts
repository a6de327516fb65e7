import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { type AccountService, KeyMode } from '../../gen/verdict/v1/account_pb.ts'
import { callerOf } from '../caller.ts'
import { tierOf } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { eq } from '../db/drizzle.ts'
import { publicId } from '../db/ids.ts'
import { accounts, apiKeys } from '../db/schema.ts'
import { one } from '../db/statement.ts'
import type { Backend } from './backend.ts'

export function createKeyAccountService({
  db,
  limits,
  about,
}: Pick<Backend, 'db' | 'limits' | 'about'>): ServiceImpl<typeof AccountService> {
  return {
    async getAccount(_, { values }) {
      const { accountId, keyId, test, scopes = [] } = callerOf({ values })
      const { name, tier } = accounts
      const account = one(await db.select({ name, tier }).from(accounts).where(eq(accounts.id, accountId)))
      const expiresAt = keyId && (await expiryOf(db, keyId))
      return {
        accountId: publicId('acc', accountId),
        name: account.name,
        mode: test ? KeyMode.TEST : KeyMode.LIVE,
        scopes: [...scopes].sort(),
        keyId: keyId && publicId('key', keyId),
        keyExpiresAt: expiresAt ? timestampFromDate(expiresAt) : undefined,
        tier: tierOf(limits, account.tier).name,
        region: about.region,
      }
    },
  }
}

async function expiryOf(db: Database, keyId: string): Promise<Date | null | undefined> {
  const [key] = await db.select({ expiresAt: apiKeys.expiresAt }).from(apiKeys).where(eq(apiKeys.id, keyId))
  return key?.expiresAt
}
