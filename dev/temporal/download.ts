import { access, mkdtemp, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runKept } from '../keeper.ts'
import type { InstallOptions } from './install-options.ts'
import { TEMPORAL_VERSION } from './version.ts'

/** A download without a new byte for this long has stalled: there is probably no Internet access. */
const STALLED_MS = 6000
const CHECK_EVERY_MS = 500

const PROGRAM = fileURLToPath(new URL('sdk-download.ts', import.meta.url))

/**
 * Downloads Temporal's development server to `target` with Temporal's SDK. Returns whether `target` exists now; a
 * download that stalls is given up. Throws only when `signal` aborts. `temporalProgram` calls it.
 */
export async function downloadTemporal(target: string, options: InstallOptions): Promise<boolean> {
  const { report, signal, cacheDir } = options
  report(`Temporal ${TEMPORAL_VERSION} is being downloaded. This happens only once.`)
  const folder = await mkdtemp(join(cacheDir, 'download-'))
  const stalled = new AbortController()
  const checks = watchForStall(folder, () => stalled.abort())
  try {
    const command = [process.execPath, PROGRAM, folder, `v${TEMPORAL_VERSION}`, target]
    await runKept(command, { signal: AbortSignal.any([signal, stalled.signal]), remove: folder })
  } catch {
    // A stalled download is a failed one, like a download whose program fails.
    signal.throwIfAborted()
  } finally {
    clearInterval(checks)
  }
  return access(target).then(
    () => true,
    () => false,
  )
}

/** Calls `onStall` when the files in `folder` have not grown for STALLED_MS. */
function watchForStall(folder: string, onStall: () => void): NodeJS.Timeout {
  let [bytes, grownAtMs] = [0, performance.now()]
  const look = async () => {
    // A file may be renamed or deleted between its listing and its stat.
    const now = await bytesIn(folder).catch(() => bytes)
    if (now > bytes) [bytes, grownAtMs] = [now, performance.now()]
    else if (performance.now() - grownAtMs > STALLED_MS) onStall()
  }
  return setInterval(() => void look(), CHECK_EVERY_MS)
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder)
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
