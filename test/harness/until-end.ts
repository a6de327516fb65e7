import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished, type RunnerTestCase, TestRunner } from 'vitest'
import { within } from './waits.ts'

const END_WITHIN_MS = 120_000

/** What tests start. It ends by the first of these methods that it has. */
type Started = { stop(): unknown } | { close(): unknown } | { drop(): unknown } | AsyncDisposable

/**
 * Ends what a test or a file has started, as `atEnd` says. An `afterAll` at the top of a file runs after what its
 * `beforeAll` gave to `atEnd`.
 */
export function untilEnd<T extends Started>(started: T): T {
  atEnd(() => {
    if ('stop' in started) return started.stop()
    if ('close' in started) return started.close()
    return 'drop' in started ? started.drop() : started[Symbol.asyncDispose]()
  })
  return started
}

/** Creates an empty folder, which is removed as `atEnd` says. Returns its path. */
export function temporaryFolder(prefix = 'verdict-test-'): string {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Lets a server listen on a free port of loopback. Returns the port. */
export async function listenUntilEnd(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atEnd(() => server.close())
  return (server.address() as AddressInfo).port
}

/**
 * Calls `end` when the test that runs is over, or with the file when its top, its `beforeAll` or one of tests that run
 * side by side calls this. What was started last ends first.
 */
export function atEnd(end: () => unknown): void {
  const test: RunnerTestCase | undefined = TestRunner.getCurrentTest()
  if (test && !test.concurrent) onTestFinished(async () => void (await end()))
  else atEndOfFile(end)
}

/**
 * Calls `end` with the file, also when a test calls this: later tests use what it has started. In a program that is no
 * test, calls it when the program has nothing left to do.
 */
export function atEndOfFile(end: () => unknown): void {
  const awaited = async () => void (await end())
  const file = testFile()
  if (!file) process.once('beforeExit', awaited)
  else if (file.collectDuration === undefined) afterAll(awaited)
  else TestRunner.getSuiteHooks(file).afterAll.push(inTime(awaited))
}

/** Vitest limits only the hooks that it is given while it collects tests. */
const inTime = (end: () => Promise<void>) => async () => {
  if ((await within(END_WITHIN_MS, end(), 'late')) === 'late')
    throw new Error(`what a file has started did not end within ${END_WITHIN_MS} ms`)
}

function testFile() {
  try {
    return TestRunner.getCurrentSuite().file
  } catch {
    return undefined
  }
}
