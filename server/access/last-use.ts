import type { Database } from '../db/connect.ts'
import { and, inArray, isNull, lte, or } from '../db/drizzle.ts'
import { apiKeys } from '../db/schema.ts'

const AT_MOST_EVERY_MS = 60_000
const GATHER_MS = 1_000

interface UsedKey {
  caller: { keyId: string }
  lastUsedAtMs: number
}

/**
 * Stores when a key was last used, to the minute. Uses are gathered for a second and written in one statement, and no
 * call waits for it. What a crash or a failed write loses is stored at the next use.
 */
export function createLastUses(db: Database): (key: UsedKey, nowMs: number) => void {
  let usedKeyIds = new Set<string>()

  async function write(nowMs: number): Promise<void> {
    const ids = [...usedKeyIds]
    usedKeyIds = new Set()
    const atMost = new Date(nowMs - AT_MOST_EVERY_MS)
    await db
      .update(apiKeys)
      .set({ lastUsedAt: new Date(nowMs) })
      .where(and(inArray(apiKeys.id, ids), or(isNull(apiKeys.lastUsedAt), lte(apiKeys.lastUsedAt, atMost))))
  }

  return (key, nowMs) => {
    if (nowMs - key.lastUsedAtMs < AT_MOST_EVERY_MS) return
    key.lastUsedAtMs = nowMs
    if (usedKeyIds.size === 0) setTimeout(() => void write(nowMs).catch(() => {}), GATHER_MS).unref()
    usedKeyIds.add(key.caller.keyId)
  }
}
