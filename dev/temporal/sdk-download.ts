import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { TestWorkflowEnvironment } from '@temporalio/testing'

// `node dev/temporal/sdk-download.ts FOLDER VERSION TARGET`: the SDK downloads the server to FOLDER and tries it; then it is moved to
// TARGET. A program of its own, since the SDK knows no way to give a download up.

const [folder = '', version, target = ''] = process.argv.slice(2)
const executable = { type: 'cached-download', downloadDir: folder, version } as const
const tried = await TestWorkflowEnvironment.createLocal({ server: { executable } })
await tried.teardown()
const [program = ''] = await readdir(folder)
await rename(join(folder, program), target)
