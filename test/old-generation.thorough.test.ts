import { globSync, readFileSync } from 'node:fs'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { run } from '../server/db/statement.ts'
import { testAccount } from './harness/account.ts'

// V8 collects new objects often and cheaply, and old ones seldom and dearly. A function that is written where it is
// assigned to a member, `call.release = () => ...`, is old from its beginning. All that such a function reaches becomes
// old as well, although a send is over after a few milliseconds.

setFlagsFromString('--expose-gc')
const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc')

const account = await testAccount()

const oldBytes = () =>
  getHeapSpaceStatistics()
    .filter(({ space_name }) => /^(?:old|large_object)_space$/.test(space_name))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0)

const TIMES = 600
/** As often as V8 collects new objects while thirteen emails are sent a second. */
const EVERY = 30

/** The bytes that one call leaves in the old generation. */
async function agedBy(call: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < TIMES; i++) await call()
  collect()
  for (let i = 0; i < 2; i++) collect({ type: 'minor' })
  const before = oldBytes()
  for (let i = 1; i <= TIMES; i++) {
    await call()
    if (i % EVERY === 0) collect({ type: 'minor' })
  }
  return (oldBytes() - before) / TIMES
}

const TEXT = 'x'.repeat(500)

test.each([
  ['a statement', 300, () => run(account.db, 'select $1::text', [TEXT])],
  ['a transaction', 1_500, () => account.db.transaction((tx) => run(tx, 'select $1::text', [TEXT]))],
])('%s leaves at most %i bytes in the old generation', async (_, bytes, call) => {
  expect(await agedBy(call)).toBeLessThan(bytes)
})

test('no function is written where it is assigned to a member', () => {
  const assigned = /^[^:]*(?:\.#?\w+|\]) (?:\?\?|\|\|)?= (?:async )?(?:function\b|(?:\([^()]*\)|\w+)(?:: [^=]+)? =>)/
  const assignments = globSync('{server,mail,net,workflows}/**/*.ts').flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, i) => (assigned.test(line) ? [`${file}:${i + 1} ${line.trim()}`] : [])),
  )
  expect(assignments).toEqual([])
})
