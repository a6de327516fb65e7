/** Something that must not be: the statement it breaks, and what shows it. */
export interface Violation {
  statement: number
  what: string
  evidence: unknown
}

export type Finding = [what: string, evidence: unknown]

/** A numbered statement of docs/reliability.md, as far as the logs of a run can contradict it. */
export interface Statement<Book> {
  number: number
  check(book: Book): Iterable<Finding>
}

export function violationsOf<Book>(statements: Statement<Book>[], book: Book): Violation[] {
  return statements.flatMap(({ number, check }) =>
    Array.from(check(book), ([what, evidence]) => ({ statement: number, what, evidence })),
  )
}
