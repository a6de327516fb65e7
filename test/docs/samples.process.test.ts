import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { documentedCalls, startEcho } from './samples.ts'

// The samples of the reference, run as a reader does. test/real/samples.test.ts runs those in Python and Go.

const run = promisify(execFile)
const CALLS = documentedCalls()

const echo = untilEnd(await startEcho())

const sourceOf = (call: (typeof CALLS)[number], label: string) =>
  call.samples.find((sample) => sample.label === label)!.source

test('every call of the contract has a sample in each language', () => {
  expect(CALLS.length).toBeGreaterThan(25)
  for (const { samples } of CALLS)
    expect(samples.map(({ label }) => label)).toEqual(['curl', 'TypeScript', 'Python', 'Go'])
})

test.for(CALLS)('the curl sample of $verb $path makes the request of the example', async (call) => {
  echo.seen.length = 0
  await run('sh', ['-ec', sourceOf(call, 'curl')], { env: echo.env })
  expect(echo.seen).toEqual([call.expected])
})

test('the TypeScript samples make the requests of the examples', async () => {
  echo.seen.length = 0
  const program = CALLS.map((call) => `{\n${sourceOf(call, 'TypeScript')}\n}`).join('\n')
  const { stdout } = await run('node', ['--input-type=module-typescript', '--eval', program], { env: echo.env })
  expect(echo.seen).toEqual(CALLS.map(({ expected }) => expected))
  expect(stdout.trim().split('\n')).toEqual(CALLS.map(() => '200 {}'))
})
