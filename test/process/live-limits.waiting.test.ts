import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DEFAULT_LIMITS, type OperatorLimits } from '../../server/config/limits.ts'
import { keepLimits } from '../../server/process/live-limits.ts'
import { temporaryFolder } from '../harness/until-end.ts'

let file: string
let lines: Record<string, unknown>[]
let ends: AsyncDisposableStack

beforeEach(() => {
  file = join(temporaryFolder(), 'limits.json')
  lines = []
  ends = new AsyncDisposableStack()
})

afterEach(() => ends.disposeAsync())

const write = (content: unknown) => {
  writeFileSync(`${file}.new`, typeof content === 'string' ? content : JSON.stringify(content))
  renameSync(`${file}.new`, file)
}

function keep(env: NodeJS.ProcessEnv = { TIERS_FILE: file }) {
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return keepLimits({ log, ends }, { limits: DEFAULT_LIMITS }, env)
}

const hangUp = () => process.emit('SIGHUP')

test('SIGHUP reads the file of limits again, and tells those that use them once for each change', () => {
  const limits = keep()
  const told: OperatorLimits[] = []
  limits.onChange((changed) => told.push(changed))
  write({ warmup: [7], shaping: [{ site: 'a.example', connections: 2 }] })
  hangUp()
  hangUp()
  expect(limits.warmUp).toEqual([7])
  expect(told).toHaveLength(1)
  expect(told[0]?.shaping).toEqual([{ site: 'a.example', connections: 2 }])
})

test('without a signal the file is read again within seconds', async () => {
  const limits = keep()
  write({ pools: { main: { addresses: ['192.0.2.1'] } } })
  await vi.waitFor(() => expect(limits.pools).toEqual({ main: { addresses: ['192.0.2.1'], warmsUp: false } }), 5_000)
})

test('a faulty file is refused as a whole and told once; the previous limits stay', () => {
  const limits = keep()
  write({ warmup: [7] })
  hangUp()
  write({ warmup: [8], shaping: [{ site: 'a.example', connections: 0 }] })
  hangUp()
  hangUp()
  expect(limits.warmUp).toEqual([7])
  expect(lines.filter(({ level }) => level === 50)).toEqual([
    expect.objectContaining({ why: expect.stringContaining('shaping[0].connections must be a whole number from 1') }),
  ])
  write({ warmup: [9] })
  hangUp()
  expect(limits.warmUp).toEqual([9])
})

test('a file that lost the default tier, or that is gone, is refused', () => {
  const limits = keep({ TIERS_FILE: file, DEFAULT_TIER: 'gold' })
  write({ tiers: { gold: { requests_per_minute: 5 } } })
  hangUp()
  expect(limits.tiers.gold).toEqual({ requestsPerMinute: 5 })
  write({})
  hangUp()
  expect(limits.tiers.gold).toEqual({ requestsPerMinute: 5 })
  expect(lines.at(-1)).toMatchObject({ why: expect.stringContaining('DEFAULT_TIER must be one of') })
  renameSync(file, `${file}.gone`)
  hangUp()
  expect(limits.tiers.gold).toEqual({ requestsPerMinute: 5 })
  expect(lines.at(-1)).toMatchObject({ why: expect.stringContaining('that can be read (ENOENT)') })
})
