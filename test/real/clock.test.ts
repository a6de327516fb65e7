import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type Counted, createLimiter } from '../../server/access/limiter.ts'
import { testDatabase } from '../harness/postgres.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SCRIPT = `
  import { createLimiter } from './server/access/limiter.ts'
  import { connect } from './server/db/connect.ts'
  const [url, account, limit] = process.argv.slice(1)
  const db = connect(url)
  const counted = await createLimiter(db)(account, Number(limit))
  await db.$client.end()
  console.log(JSON.stringify({ now: Date.now(), counted }))`

/** Counts a request in a process whose clock is so many hours off. A clock that is set does not move the monotonic one. */
async function countAt(hours: number, ...args: string[]): Promise<{ now: number; counted: Counted }> {
  const node = [process.execPath, '--input-type=module-typescript', '-e', SCRIPT, ...args]
  const offset = `${hours > 0 ? '+' : ''}${hours}h`
  const { stdout } = await promisify(execFile)('faketime', ['--exclude-monotonic', '-f', offset, ...node], {
    cwd: ROOT,
  })
  return JSON.parse(stdout)
}

test('processes whose clocks are hours off count in one window, and tell the same end of it', async () => {
  const { url, db, drop } = await testDatabase()
  try {
    const account = randomUUID()
    const count = createLimiter(db)
    const { resetAt } = await count(account, 3)
    const ahead = await countAt(2, url, account, '3')
    expect(ahead.now - Date.now()).toBeGreaterThan(7_000_000)
    expect(ahead.counted).toMatchObject({ admitted: true, remaining: 1, resetAt })
    const behind = await countAt(-2, url, account, '3')
    expect(behind.now - Date.now()).toBeLessThan(-7_000_000)
    expect(behind.counted).toMatchObject({ admitted: true, remaining: 0, resetAt })
    for (const hours of [2, -2]) {
      expect((await countAt(hours, url, account, '3')).counted).toMatchObject({ admitted: false, resetAt })
    }
    expect(await count(account, 3)).toMatchObject({ admitted: false, resetAt })
  } finally {
    await drop()
  }
})
