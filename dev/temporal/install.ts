import { Problem } from '../problem.ts'
import { cacheFolder } from './bring-up.ts'
import { temporalProgram } from './program.ts'

// `node dev/temporal/install.ts`: brings the program `temporal` now and says where it is, instead of when it is first needed.

const tell = (words: string) => console.error(words)
try {
  console.log(await temporalProgram({ tell, signal: new AbortController().signal, cacheDir: cacheFolder(process.env) }))
} catch (error) {
  if (!(error instanceof Problem)) throw error
  console.error(error.message)
  process.exitCode = 1
}
