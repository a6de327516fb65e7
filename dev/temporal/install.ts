import { Problem } from '../problem.ts'
import type { TemporalProgram } from './build.ts'
import { cacheFolder } from './install-options.ts'
import { temporalPrograms } from './program.ts'

// `node dev/temporal/install.ts [--cluster]`: installs the program `temporal`, and with `--cluster` also those of a
// cluster, before they are first needed. It prints their paths.

const CLUSTER: TemporalProgram[] = ['temporal', 'temporal-server', 'temporal-sql-tool']

const report = (message: string) => console.error(message)
try {
  const options = { report, signal: new AbortController().signal, cacheDir: cacheFolder(process.env) }
  const paths = await temporalPrograms(process.argv[2] === '--cluster' ? CLUSTER : ['temporal'], options)
  console.log(Object.values(paths).join('\n'))
} catch (error) {
  if (!(error instanceof Problem)) throw error
  console.error(error.message)
  process.exitCode = 1
}
