import { mkdir, writeFile } from 'node:fs/promises'
import { devNull } from 'node:os'
import { freePort } from '../../dev/ports.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { temporalProgram } from '../../dev/temporal/program.ts'
import { startTemporalServer } from '../../dev/temporal/server.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { createWorkflows } from '../../workflows/client.ts'
import type { replayRange } from '../../workflows/replay-range.ts'
import { bundleWorkflows } from '../../workflows/run-workers.ts'
import { RANGE_SCENARIOS, type RangeScenario, replaysOf } from './range-scenarios.ts'
import { SCENARIOS } from './scenarios.ts'
import { createWorkflowWorld } from './world.ts'

// `node test/workflows/record-histories.ts [scenario]` runs the scenarios on a real Temporal and stores their
// histories for the test that replays them. Only a new scenario needs it. When an old history no longer replays, the
// change is wrong, not the history.

const folder = new URL('histories/', import.meta.url)
const installOptions = {
  report: console.error,
  signal: new AbortController().signal,
  cacheDir: cacheFolder(process.env),
}
const [port, uiPort] = [await freePort(), await freePort()]
const server = await startTemporalServer({
  program: await temporalProgram(installOptions),
  port,
  uiPort,
  logFile: devNull,
})
await server.ready
let scenario: RangeScenario | undefined
const replays = replaysOf(() => scenario!)
const world = await createWorkflowWorld(server.address, await bundleWorkflows(), replays)
await mkdir(folder, { recursive: true })
for (const [name, { script, plan, meanwhile }] of Object.entries(SCENARIOS)) {
  if (process.argv[2] && process.argv[2] !== name) continue
  const delivery = await world.deliver(script, plan)
  const { runId } = await delivery.handle.describe()
  await meanwhile?.(delivery)
  await delivery.handle.result().catch(() => {})
  await store(name, delivery.workflowId, runId)
}
for (const [name, each] of Object.entries(RANGE_SCENARIOS)) {
  if (process.argv[2] && process.argv[2] !== name) continue
  scenario = each
  replays.begin()
  const id = newId(Date.now())
  const workflows = createWorkflows({ connection: world.connection, namespace: 'default', scheduleMs: [0] })
  await workflows.startReplay({ id, accountId: id, total: 300 })
  const handle = world.client.getHandle<typeof replayRange>(`replay-${publicId('rpl', id)}`)
  const { runId } = await handle.describe()
  await each.meanwhile?.(handle)
  await handle.result().catch(() => {})
  await store(name, handle.workflowId, runId)
}
await world.close()
await server.stop()

async function store(name: string, workflowId: string, runId: string): Promise<void> {
  const { events } = await world.client.getHandle(workflowId, runId).fetchHistory()
  const lines = events!.map((event) => JSON.stringify(event, withoutMachine))
  await writeFile(new URL(`${name.replaceAll(' ', '-')}.jsonl`, folder), `${lines.join('\n')}\n`)
  console.log(`${name}: ${lines.length} events`)
}

/** Removes the machine and its folders from an event. */
function withoutMachine(key: string, value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith(`${process.pid}@`)) return 'worker'
  return key === 'stackTrace' ? undefined : value
}
