import { cleanJson, cleanText } from '../clean-text.ts'
import { EXIT, Failure } from './command.ts'
import { reachability } from './database-errors.ts'
import { run } from './run.ts'

// `npx verdict`: the command line of operators and users.

const argv = process.argv.slice(2)
const asJson = argv.includes('--json')

// Whoever reads no further (`| head`) ends the command quietly.
process.stdout.on('error', () => process.exit(EXIT.ok.code))

try {
  const { json, text, exit = 'ok' } = await run(argv)
  console.log(asJson ? cleanJson(JSON.stringify(json, null, 2)) : cleanText(text, { keep: '\n\t' }))
  process.exitCode = EXIT[exit].code
} catch (error) {
  const failure = error instanceof Failure ? error : reachability(error)
  const { exit, message, json } = failure ?? { exit: 'failed' as const, message: rootOf(error).message, json: {} }
  console.error(
    asJson ? cleanJson(JSON.stringify({ error: exit, message, ...json })) : cleanText(message, { keep: '\n\t' }),
  )
  process.exitCode = EXIT[exit].code
}

/** The driver's own words, without the query and its parameters. */
function rootOf(error: unknown): Error {
  const { cause } = error as Error
  return cause instanceof Error ? rootOf(cause) : (error as Error)
}
