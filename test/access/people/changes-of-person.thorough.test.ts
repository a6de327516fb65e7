import { randomBytes } from 'node:crypto'
import { createServiceImplSpec } from '@connectrpc/connect'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LimitsService } from '../../../gen/verdict/v1/limits_pb.ts'
import { WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { createSessionCookie } from '../../../server/access/people/cookie.ts'
import { signingKeys } from '../../../server/access/people/signing-keys.ts'
import { newId } from '../../../server/db/ids.ts'
import { sessions } from '../../../server/db/people-schema.ts'
import { testAccount } from '../../harness/account.ts'
import { callsWith, startDashboard } from '../../harness/person.ts'

const account = await testAccount()
let changes = 0
const dashboard = await startDashboard({
  ...account,
  publicServices: [
    createServiceImplSpec<typeof LimitsService>(LimitsService, { getLimits: async () => ({}) }),
    createServiceImplSpec<typeof WebhookService>(WebhookService, {
      async deleteWebhook() {
        changes++
        return {}
      },
    }),
  ],
})

async function signInAgain(userId: string): Promise<string> {
  const token = randomBytes(16).toString('hex')
  const now = new Date()
  const times = { createdAt: now, updatedAt: now, confirmedAt: now, expiresAt: new Date(now.getTime() + 3_600_000) }
  await account.db.insert(sessions).values({ id: newId(now.getTime()), token, userId, ...times })
  return createSessionCookie({ keys: signingKeys(dashboard.sealer), secure: false }).pair(token)
}

async function statusOf(cookie: string, method: string): Promise<number> {
  const { headers } = callsWith(cookie, account.accountId)
  const response = await fetch(`${dashboard.url}/verdict.v1.${method}`, { method: 'POST', headers, body: '{}' })
  await response.body?.cancel()
  return response.status
}

test('a person makes at most 600 changes a minute, whatever sessions share them, and reads on', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 20 }), async (signIns) => {
      const person = await dashboard.person({ accountId: account.accountId, role: 'member' })
      const cookies = await Promise.all(Array.from({ length: signIns }, () => signInAgain(person.personId)))
      changes = 0
      const statuses: number[] = []
      for (let at = 0; at < 640; at += 32) {
        const some = Array.from({ length: 32 }, (_, i) => cookies[(at + i) % signIns]!)
        const round = some.map((cookie) => statusOf(cookie, 'WebhookService/DeleteWebhook'))
        statuses.push(...(await Promise.all(round)))
      }
      expect([changes, statuses.filter((status) => status === 429).length]).toEqual([600, 40])
      expect(await statusOf(cookies[0]!, 'LimitsService/GetLimits')).toBe(200)
      const other = await dashboard.person({ accountId: account.accountId, role: 'member' })
      expect(await statusOf(other.cookie, 'WebhookService/DeleteWebhook')).toBe(200)
    }),
    { numRuns: 3 },
  )
})
