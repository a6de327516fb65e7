import { access, mkdtemp, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runKept } from '../keeper.ts'
import type { BringUp } from './bring-up.ts'
import { TEMPORAL_VERSION } from './version.ts'

/** After this long without a byte we assume that there is no Internet access. */
const STALLED_MS = 6000

const PROGRAM = fileURLToPath(new URL('sdk-download.ts', import.meta.url))

/** Lets Temporal's SDK download its development server to `target`. Resolves to whether that worked, within seconds. */
export async function downloadTemporal(target: string, { tell, signal, cacheDir }: BringUp): Promise<boolean> {
  tell(`Temporal ${TEMPORAL_VERSION} is being downloaded (once).`)
  const folder = await mkdtemp(join(cacheDir, 'download-'))
  const stalled = new AbortController()
  const watch = watchGrowth(folder, () => stalled.abort())
  try {
    const command = [process.execPath, PROGRAM, folder, `v${TEMPORAL_VERSION}`, target]
    await runKept(command, { signal: AbortSignal.any([signal, stalled.signal]), remove: folder })
  } catch {
    signal.throwIfAborted()
  } finally {
    clearInterval(watch)
  }
  return access(target).then(
    () => true,
    () => false,
  )
}

function watchGrowth(folder: string, stall: () => void): NodeJS.Timeout {
  let [bytes, grownAtMs] = [0, performance.now()]
  return setInterval(async () => {
    const now = await bytesIn(folder).catch(() => bytes)
    if (now > bytes) [bytes, grownAtMs] = [now, performance.now()]
    else if (performance.now() - grownAtMs > STALLED_MS) stall()
  }, 500)
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder)
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
