import type { GroupBy } from '../../gen/verdict/v1/stats_pb.ts'

export interface Filter {
  /** Name of the parameter in the address of the page. */
  name: string
  label: string
  /** The values to choose from. Without them the value is typed. */
  choices?: [value: string, word: string][]
  /** Kind of a value. A time is in UTC. */
  kind?: 'text' | 'time'
  placeholder?: string
  /** The groups of statistics whose values are suggested while a value is typed. */
  known?: GroupBy
  /** What people call a value that is typed. */
  nameOf?(value: string): string
  /** What a typed value looks like, as a regular expression, and the words for one that does not. */
  pattern?: string
  patternWords?: string
}
