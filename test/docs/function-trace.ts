import { renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { isMainThread } from 'node:worker_threads'

// Loaded into a process by `--import`. On each SIGUSR2 it writes which files of this repository have run a function
// since the signal before: V8 counts every call. The file is FUNCTION_TRACE with the number of the signal.

const ROOT = new URL('../..', import.meta.url).href
const IS_OURS = new RegExp(`^${ROOT}(?:server|mail|net|workflows)/`)

if (isMainThread) await trace(process.env.FUNCTION_TRACE!)

async function trace(place: string): Promise<void> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  let signals = 0
  process.on('SIGUSR2', async () => {
    // Taking the counts sets them to 0.
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const called = result.filter(
      ({ url, functions }) => IS_OURS.test(url) && functions.some(({ ranges }) => ranges[0]!.count > 0),
    )
    const unfinished = `${place}.unfinished`
    writeFileSync(unfinished, JSON.stringify(called.map(({ url }) => url.slice(ROOT.length))))
    signals += 1
    renameSync(unfinished, `${place}.${signals}`)
  })
}
