import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROUTES } from '../../client/gen/contract.ts'
import { synchronousFiles } from '../../dev/python/synchronous.ts'

// What the Python client is made of. test/real/python-client.test.ts runs it.

const ASYNC = 'client/python/src/verdict_client/_async'

test('the Python client has every call of the contract', () => {
  const source = globSync(`${ASYNC}/*.py`)
    .map((file) => readFileSync(file, 'utf8'))
    .join()
  expect(Object.keys(ROUTES).filter((name) => !new RegExp(`_call\\(\\s*"${name}"`).test(source))).toEqual([])
})

test('its synchronous half waits for nothing', async () => {
  const files = await synchronousFiles(ASYNC)
  expect(files.size).toBeGreaterThan(5)
  for (const [name, text] of files)
    expect([name, text.match(/\bawait\b|\basync\b|Async|anyio|Awaitable/g)]).toEqual([name, null])
})
