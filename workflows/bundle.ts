import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode } from '@temporalio/worker'

// Prints the code of the workflows as a worker runs it, separate from everything else. It is its own program
// because bundling takes 150 MB, which would otherwise stay in the worker's memory.

const quiet = () => {}
const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const { code } = await bundleWorkflowCode({
  workflowsPath: pathOf('workflows.ts'),
  workflowInterceptorModules: [pathOf('trace-header.ts')],
  logger: { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: console.warn, error: console.error },
})
process.stdout.write(code)
