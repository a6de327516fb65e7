import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Installation } from './installation.ts'

/** Runs `npm run demo` beside the installation. Returns the public id of its account. */
export async function runDemo({ dataDir }: Installation): Promise<string> {
  const env = { ...process.env, DATA_DIR: dataDir }
  const { stdout } = await promisify(execFile)(process.execPath, ['dev/demo.ts'], { env })
  return /\/dashboard\/(acc_\w+)/.exec(stdout)![1]!
}
