import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

// The archive is written by its own process at the lowest priority: sends and webhooks come first.

/** What the process says about a day. */
export type DayReport = { day: string; rows: number; bytes: number } | { day: string; fault: string }

const WRITER = fileURLToPath(new URL('writer.ts', import.meta.url))

/**
 * Writes all old days that the archive does not have. `report` is called for each; one that fails is left for the next
 * call. Throws when the archive cannot be used at all.
 */
export async function writeOldDays(report: (day: DayReport) => void, signal: AbortSignal): Promise<void> {
  const writer = fork(WRITER, { signal, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  let said = ''
  writer.stderr?.on('data', (text) => {
    said = `${said}${text}`.slice(-4_096)
  })
  writer.on('message', (day) => report(day as DayReport))
  const [code, killedBy] = await once(writer, 'close')
  if (code !== 0)
    throw new Error(`the archive cannot be written: ${said.trim() || `its process ended: ${killedBy ?? code}`}`)
}
