/** What the exit codes mean; scripts rely on them. 69 and 78 are those of sysexits.h. */
export const EXIT = {
  ok: { code: 0, means: 'done; of a send: delivered' },
  failed: { code: 1, means: 'the answer is no: refused, bounced, rejected, not imported, a check failed' },
  usage: { code: 2, means: 'the command was not understood' },
  not_found: { code: 3, means: 'there is no such account, key, domain, message or entry' },
  unavailable: { code: 69, means: 'the database or the service cannot be reached; try again' },
  configuration: { code: 78, means: 'a variable of the environment is missing or faulty' },
} as const

export type Exit = keyof typeof EXIT

/** Ends a command with words for a person. */
export class Failure extends Error {
  readonly exit: Exit
  /** What `--json` prints beside the message: of an error of the API its own code, `request_id` and details. */
  readonly json: object
  constructor(exit: Exit, message: string, json: object = {}) {
    super(message)
    this.exit = exit
    this.json = json
  }
}

export interface Answer {
  /** What `--json` prints. */
  json: object
  /** What is printed otherwise. */
  text: string
  exit?: Exit
}

export interface Option {
  type: 'string' | 'boolean'
  multiple?: boolean
  required?: boolean
  /** How the value is called in the help. */
  value?: string
  help: string
}

type Options = Record<string, Option>

type Values<O extends Options> = {
  [Name in keyof O]: O[Name] extends { type: 'boolean' }
    ? boolean | undefined
    : O[Name] extends { multiple: true }
      ? string[] | undefined
      : O[Name] extends { required: true }
        ? string
        : string | undefined
}

interface Definition<O extends Options> {
  summary: string
  /** The words that follow the command, all of them needed but those that end in `?`. */
  words?: string[]
  options: O
  examples: string[]
  run(values: Values<O>, words: string[]): Promise<Answer>
}

export type Command = Definition<Options>

/** Gives `run` the types of its options. */
export function command<const O extends Options>(definition: Definition<O>): Command {
  return definition as unknown as Command
}
