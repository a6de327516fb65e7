import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode } from '@temporalio/worker'

// Prints the code of the workflows as a worker runs it, apart from everything else. A program of its own: what it takes to make it, 150 MB,
// would stay with the worker.

const quiet = () => {}
const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('workflows.ts', import.meta.url)),
  logger: { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: console.warn, error: console.error },
})
process.stdout.write(code)
