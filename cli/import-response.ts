// What the service answers to one request of an import, and its addresses by their lines in the file.

export interface Line {
  /** The line's number in the file, from 1. */
  line: number
  email: string
}

export interface Counts {
  imported: number
  already_suppressed: number
  invalid: number
  total: number
}

/** The response to one request. `index` is an address's position in the request. */
export type ImportResponse = Counts & { errors: { index: number; email: string; error: string }[] }

/** A text that the service refused. */
export type Invalid = Line & { error: string }

/** The texts that the service refused, with their lines. */
export const invalidOf = (lines: Line[], { errors }: ImportResponse): Invalid[] =>
  errors.map(({ index, email, error }) => ({ line: lines[index]!.line, email, error }))

export const invalidText = ({ line, email, error }: Invalid) => `  line ${line}: ${error}: ${JSON.stringify(email)}`
