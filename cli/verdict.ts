import { cleanJson, cleanText } from '../net/clean-text.ts'
import { CliError, EXIT } from './command.ts'
import { runCli } from './run.ts'

// `npx verdict`, the command line of operators and users: prints the output of a command, and sets the exit code.

const args = process.argv.slice(2)
const asJson = args.includes('--json')
// https://no-color.org
const inColours = process.stdout.isTTY && !process.env.NO_COLOR

// A reader that closes the pipe early, such as `| head`, ends the command quietly.
process.stdout.on('error', () => process.exit(EXIT.ok.code))

try {
  const { json, text, rest, exit = 'ok', paint = (plain) => plain } = await runCli(args)
  if (rest) console.error(text)
  else if (asJson) console.log(cleanJson(JSON.stringify(json, null, 2)))
  else console.log(inColours ? paint(cleanText(text, { keep: '\n\t' })) : cleanText(text, { keep: '\n\t' }))
  for await (const { json, text } of rest ?? []) console.log(asJson ? cleanJson(JSON.stringify(json)) : cleanText(text))
  process.exitCode = EXIT[exit].code
} catch (error) {
  const { exit, message, json } = error instanceof CliError ? error : new CliError('failed', rootOf(error).message)
  console.error(
    asJson ? cleanJson(JSON.stringify({ error: exit, message, ...json })) : cleanText(message, { keep: '\n\t' }),
  )
  process.exitCode = EXIT[exit].code
}

/** The driver's own error, whose message does not contain the query and its parameters. */
function rootOf(error: unknown): Error {
  const { cause } = error as Error
  return cause instanceof Error ? rootOf(cause) : (error as Error)
}
