import { Problem } from '../problem.ts'
import { cacheFolder } from './install-options.ts'
import { temporalProgram } from './program.ts'

// `node dev/temporal/install.ts`: installs the program `temporal` before it is first needed, and prints its path.

const report = (message: string) => console.error(message)
try {
  console.log(
    await temporalProgram({ report, signal: new AbortController().signal, cacheDir: cacheFolder(process.env) }),
  )
} catch (error) {
  if (!(error instanceof Problem)) throw error
  console.error(error.message)
  process.exitCode = 1
}
