export interface Filter {
  /** Name of the parameter in the address of the page. */
  name: string
  label: string
  /** The values to choose from. Without them the value is typed. */
  choices?: [value: string, word: string][]
  /** Kind of a typed value. A time is in the reader's zone, and in the address in UTC. */
  kind?: 'text' | 'time'
  placeholder?: string
  /** What a typed value looks like, as a regular expression, and the words for one that does not. */
  pattern?: string
  patternWords?: string
}
