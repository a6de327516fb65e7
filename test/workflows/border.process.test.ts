import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { expect, inject, test } from 'vitest'
import { readVariables } from '../../server/config/config.ts'
import { RETRY_SCHEDULE } from '../../server/config/retry-schedule.ts'
import { POST_LIMITS } from '../../server/webhooks/post/post.ts'
import { POST_MS } from '../../workflows/worker-limits.ts'

// A workflow is replayed from its history. Its code must do the same each time.

/** Packages whose code is made for workflows. */
const SAFE = ['@temporalio/workflow', '@temporalio/common']
/** Names whose value differs at each replay, or that cause side effects. */
const UNSAFE = /\b(process|setInterval|fetch|performance|crypto|require|import\()/

/** The files of the workflow code with their imports. Types are left out, because they vanish before the code runs. */
function reachable(file: string, seen = new Map<string, string[]>()): Map<string, string[]> {
  if (seen.has(file)) return seen
  const source = readFileSync(file, 'utf8')
  const imports = [...source.matchAll(/^(?:import|export)(?! type) [^']*?from '([^']+)'/gm)].map(([, from]) => from!)
  seen.set(file, imports)
  for (const from of imports) if (from.startsWith('.')) reachable(normalize(join(dirname(file), from)), seen)
  return seen
}

const files = reachable('workflows/trace-header.ts', reachable('workflows/workflows.ts'))

test('workflow code imports only itself and packages made for workflows', () => {
  const strangers = [...files].flatMap(([file, imports]) =>
    imports.filter((from) => !(from.startsWith('./') || SAFE.includes(from))).map((from) => `${file} -> ${from}`),
  )
  expect(strangers).toEqual([])
  expect([...files.keys()].toSorted()).toEqual(
    [
      'activity-options',
      'deliver-webhooks',
      'dispatch-table',
      'long-history',
      'replay-range',
      'retention',
      'rounds',
      'search-attributes',
      'summaries',
      'trace-header',
      'verification',
      'worker-limits',
      'workflows',
    ].map((name) => `workflows/${name}.ts`),
  )
})

test('workflow code gets time and chance from Temporal only, and has no side effects', () => {
  for (const file of files.keys()) {
    const code = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    expect(code, file).not.toMatch(UNSAFE)
  }
})

test('the bundle of the workflows holds nothing of the server', async () => {
  const { code } = inject('workflowBundle')
  const modules = [...code.matchAll(/^\/\*\*\*\/ "(\.[^"]+)"/gm)].map(([, path]) => path!)
  const own = modules.filter((path) => !path.includes('node_modules/')).map((path) => basename(path))
  expect(own.toSorted()).toEqual([...files.keys()].map((file) => basename(file)).toSorted())
})

test('the server reaches workflow code in its composition roots alone', () => {
  const importers = globSync('{net,mail,server,cli}/**/*.ts').filter((file) =>
    /from '(\.\.\/)+workflows\//.test(readFileSync(file, 'utf8')),
  )
  expect(importers.filter((file) => !['server/main.ts'].includes(file))).toEqual([])
})

test('the schedule is the one of the specification', () => {
  expect(RETRY_SCHEDULE.map(({ attempt, delay }) => `${attempt} ${delay}`)).toEqual([
    '1 immediate',
    '2 1 minute',
    '3 5 minutes',
    '4 15 minutes',
    '5 1 hour',
    '6 6 hours',
  ])
  expect(RETRY_SCHEDULE.map(({ delayMs }) => delayMs / 60_000)).toEqual([0, 1, 5, 15, 60, 360])
})

test('the schedule is the default of the configuration', () => {
  const read = readVariables({}, ['webhookSchedule'])
  expect(read).toEqual({ variables: { webhookSchedule: RETRY_SCHEDULE.map(({ delayMs }) => delayMs) } })
})

test('the time limit of an attempt fits the limits of a POST', () => {
  expect(POST_MS).toBeGreaterThanOrEqual(POST_LIMITS.slotMs + POST_LIMITS.totalMs)
})
