/** A violation of a statement, with the evidence from the logs. */
export interface Violation {
  statement: number
  what: string
  evidence: unknown
}

export type Finding = [what: string, evidence: unknown]

/** The check of a numbered statement of docs/reliability.md against the logs of a run. */
export interface Statement<Book> {
  number: number
  check(book: Book): Iterable<Finding>
}

export function violationsOf<Book>(statements: Statement<Book>[], book: Book): Violation[] {
  return statements.flatMap(({ number, check }) =>
    Array.from(check(book), ([what, evidence]) => ({ statement: number, what, evidence })),
  )
}
