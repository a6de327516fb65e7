import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { type AccountService, KeyMode } from '../../gen/verdict/v1/account_pb.ts'
import { callerKey } from '../caller.ts'
import { tierOf } from '../config/limits.ts'
import { eq } from '../db/drizzle.ts'
import { publicId } from '../db/ids.ts'
import { accounts, apiKeys } from '../db/schema.ts'
import type { Backend } from './backend.ts'

export function createKeyAccountService({
  db,
  limits,
  about,
}: Pick<Backend, 'db' | 'limits' | 'about'>): ServiceImpl<typeof AccountService> {
  return {
    async getAccount(_, { values }) {
      const { accountId, keyId, test, scopes = [] } = values.get(callerKey)!
      const [account] = await db.select().from(accounts).where(eq(accounts.id, accountId))
      const [key] = keyId === undefined ? [] : await db.select().from(apiKeys).where(eq(apiKeys.id, keyId))
      return {
        accountId: publicId('acc', accountId),
        name: account!.name,
        mode: test ? KeyMode.TEST : KeyMode.LIVE,
        scopes: [...scopes].sort(),
        keyId: keyId && publicId('key', keyId),
        keyExpiresAt: key?.expiresAt ? timestampFromDate(key.expiresAt) : undefined,
        tier: tierOf(limits, account!.tier).name,
        region: about.region,
      }
    },
  }
}
