import { Command } from '@commander-js/extra-typings'
import { nameFault } from '../net/clean-text.ts'

/** The exit codes. Scripts rely on them; 69 and 78 are those of sysexits.h. */
export const EXIT = {
  ok: { code: 0, means: 'success; for send: delivered' },
  failed: { code: 1, means: 'failure: refused, bounced, rejected, not imported, or a check failed' },
  usage: { code: 2, means: 'the command line is wrong' },
  not_found: { code: 3, means: 'no such account, key, domain, message or entry' },
  warned: { code: 4, means: 'for doctor and upgrade check: warnings, and no failure' },
  unavailable: { code: 69, means: 'the database or the service cannot be reached; try again' },
  configuration: { code: 78, means: 'an environment variable is missing or invalid' },
} as const

export type Exit = keyof typeof EXIT

/** Ends a command with a message for the user. */
export class CliError extends Error {
  readonly exit: Exit
  /** What `--json` prints beside the message. For an API error: its error code, `request_id` and details. */
  readonly json: object
  constructor(exit: Exit, message: string, json: object = {}) {
    super(message)
    this.exit = exit
    this.json = json
  }
}

/** What a command prints, and the exit code it ends with; `ok` by default. */
export interface Output {
  /** Printed with `--json`. */
  json: object
  /** Printed without it. */
  text: string
  exit?: Exit
  /** Adds colours to the text, for a terminal. */
  paint?: (text: string) => string
  /** What the command follows: printed as it comes, with `--json` one line each. The text above then goes to stderr. */
  rest?: AsyncIterable<Output>
}

/** Called once by every command that succeeds. */
export type Print = (output: Output) => void

const NAME_CHARACTERS = 100

/** Reads the argument `<name>` of what a command creates. */
export function readNameArgument(text: string): string {
  const fault = nameFault(text.trim(), NAME_CHARACTERS)
  if (fault) throw new CliError('usage', `<name>: ${fault}`)
  return text.trim()
}

/** Creates a command whose help has these examples below the options. */
export const command = (name: string, ...examples: string[]) =>
  new Command(name).addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`)
