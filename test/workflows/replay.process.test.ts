import { readdirSync, readFileSync } from 'node:fs'
import proto from '@temporalio/proto'
import { Worker } from '@temporalio/worker'
import { expect, inject, test } from 'vitest'
import { RANGE_SCENARIOS } from './range-scenarios.ts'
import { SCENARIOS } from './scenarios.ts'
import { quiet } from './world.ts'

const { History } = proto.temporal.api.history.v1
const folder = new URL('histories/', import.meta.url)
const files = readdirSync(folder)

quiet()
const workflowBundle = inject('workflowBundle')

/** Reads a history with one event per line. */
const historyOf = (lines: string) =>
  History.fromObject({
    events: lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  })

test('there is a history of every outcome', () => {
  expect(files.toSorted()).toEqual(
    Object.keys({ ...SCENARIOS, ...RANGE_SCENARIOS })
      .map((name) => `${name.replaceAll(' ', '-')}.jsonl`)
      .toSorted(),
  )
})

test('workflows in progress continue under the current code: every history replays', async () => {
  const histories = files.map((file) => ({
    workflowId: file,
    history: historyOf(readFileSync(new URL(file, folder), 'utf8')),
  }))
  const replayed: unknown[] = []
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories)) {
    expect(error, workflowId).toBeUndefined()
    replayed.push(workflowId)
  }
  expect(replayed.toSorted()).toEqual(files.toSorted())
})

test('a history that the code does not follow is rejected', async () => {
  const changed = readFileSync(new URL('exhausted.jsonl', folder), 'utf8').replaceAll('"finishDispatches"', '"renamed"')
  const replay = Worker.runReplayHistory({ workflowBundle }, historyOf(changed))
  await expect(replay).rejects.toThrow(/finishDispatches|Nondeterminism/i)
})
