import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { TestWorkflowEnvironment } from '@temporalio/testing'

// `node dev/temporal/sdk-download.ts FOLDER VERSION TARGET`: the SDK downloads the server to FOLDER and starts it once,
// then the server moves to TARGET. This is its own program because the SDK cannot cancel a download.

const [folder = '', version, target = ''] = process.argv.slice(2)
const executable = { type: 'cached-download', downloadDir: folder, version } as const
const environment = await TestWorkflowEnvironment.createLocal({ server: { executable } })
await environment.teardown()
const [program = ''] = await readdir(folder)
await rename(join(folder, program), target)
