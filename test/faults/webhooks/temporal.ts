import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTemporal, type TemporalOptions } from '../../harness/temporal.ts'

export type TemporalPlace = Awaited<ReturnType<typeof openTemporalPlace>>

/** Starts a Temporal for one test, which can stop and start again at the same address, with or without its history. */
export async function openTemporalPlace(options: Pick<TemporalOptions, 'program'> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'verdict-temporal-'))
  let stores = 1
  const dbFile = () => join(folder, `temporal-${stores}.db`)
  let server = await startTemporal({ ...options, dbFile: dbFile() })
  const { address, port } = server

  async function start(): Promise<void> {
    server = await startTemporal({ ...options, dbFile: dbFile(), port })
  }

  return {
    address,
    group: () => server.group,
    start,
    stop: () => server.stop(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    /** Starts again with an empty store. */
    async forget(): Promise<void> {
      await server.stop()
      stores++
      await start()
    },
    async drop(): Promise<void> {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
