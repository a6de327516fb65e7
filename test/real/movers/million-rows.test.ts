import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../../harness/until-end.ts'
import { type Account, createSender, type Product, startProduct } from '../product.ts'

// Whoever moves here brings years of bounces in one file.

const ROWS = 1_000_000
/** Half of the rows: the others were delivered. */
const BOUNCED = ROWS / 2
const DRY_RUN_MS = 60_000
const COMMAND_MS = 280_000
/** Memory: the command holds the whole file, and the API sees 10,000 addresses at a time. */
const MOST_MB = { command: 600, api: 450 }
/** The last lines that the command writes. */
const MAX_OUTPUT = 64 * 1_048_576

let account: Account
let product: Product
let folder: string
let file: string

beforeAll(async () => {
  account = await createSender()
  product = await startProduct(account, {})
  folder = temporaryFolder()
  file = join(folder, 'events.csv')
  const rows = Array.from({ length: ROWS }, (_, i) =>
    i % 2 === 0
      ? `2026-11-${(i % 28) + 1},news@shop.example.com,Customer.${i.toString(36)}@Mail${i % 97}.example,Hard bounce`
      : `2026-11-${(i % 28) + 1},news@shop.example.com,reader.${i.toString(36)}@mail${i % 97}.example,Delivered`,
  )
  await writeFile(file, ['Date,Sender,Recipient,Status', ...rows, ''].join('\n'))
})

async function verdict(...args: string[]) {
  const env = {
    ...process.env,
    VERDICT_URL: product.api.url,
    VERDICT_API_KEY: account.key,
    NODE_OPTIONS: `--max-old-space-size=${MOST_MB.command}`,
  }
  const options = { env, timeout: COMMAND_MS, maxBuffer: MAX_OUTPUT }
  const { stdout } = await promisify(execFile)(process.execPath, ['cli/verdict.ts', ...args, '--json'], options)
  return JSON.parse(stdout)
}

const importOf = (...args: string[]) => verdict('import', file, '--where', 'Status=Hard bounce', ...args)

test('a dry run of 1,000,000 rows takes less than a minute and bounded memory', async () => {
  const startedAt = performance.now()
  const preview = await importOf('--dry-run')
  const elapsedMs = performance.now() - startedAt
  expect(preview).toMatchObject({ new: BOUNCED, known: 0, invalid: 0, understood: { rows: ROWS, column: 'Recipient' } })
  console.log(`a dry run of ${ROWS} rows took ${(elapsedMs / 1_000).toFixed(1)} s`)
  expect(elapsedMs).toBeLessThan(DRY_RUN_MS)
})

test('an import of them is undone as a whole, and a repeat suppresses each address once', async () => {
  const { import_id, ...counts } = await importOf('--reason', 'bounce')
  expect(counts).toMatchObject({ imported: BOUNCED, already_suppressed: 0, invalid: 0 })
  expect(await verdict('suppression', 'undo', import_id)).toMatchObject({ removed: BOUNCED })
  expect(await importOf('--reason', 'bounce')).toMatchObject({ imported: BOUNCED, already_suppressed: 0 })
  expect(await importOf('--reason', 'bounce')).toMatchObject({ imported: 0, already_suppressed: BOUNCED })
  expect(await mostMb(product.api.pid)).toBeLessThan(MOST_MB.api)
})

/** The largest resident size that a process had. */
async function mostMb(pid: number): Promise<number> {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))!
  return Number(kilobytes) / 1_024
}
