import { mkdir, writeFile } from 'node:fs/promises'
import { devNull } from 'node:os'
import { freePort } from '../../dev/ports.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { temporalProgram } from '../../dev/temporal/program.ts'
import { startTemporalServer } from '../../dev/temporal/server.ts'
import { bundleWorkflows } from '../../workflows/run-workers.ts'
import { SCENARIOS } from './scenarios.ts'
import { createWorld } from './world.ts'

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
const world = await createWorld(server.address, await bundleWorkflows())
await mkdir(folder, { recursive: true })
for (const [name, { script, plan, meanwhile }] of Object.entries(SCENARIOS)) {
  if (process.argv[2] && process.argv[2] !== name) continue
  const delivery = await world.deliver(script, plan)
  const { runId } = await delivery.handle.describe()
  await meanwhile?.(delivery)
  await delivery.handle.result().catch(() => {})
  const { events } = await world.client.getHandle(delivery.workflowId, runId).fetchHistory()
  const lines = events!.map((event) => JSON.stringify(event, withoutMachine))
  await writeFile(new URL(`${name.replaceAll(' ', '-')}.jsonl`, folder), `${lines.join('\n')}\n`)
  console.log(`${name}: ${lines.length} events`)
}
await world.close()
await server.stop()

/** Removes the machine and its folders from an event. */
function withoutMachine(key: string, value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith(`${process.pid}@`)) return 'worker'
  return key === 'stackTrace' ? undefined : value
}
