import { type AddressList, type Choices, readAddressList } from '../address-files/address-list.ts'
import { type Condition, shownCounts } from '../address-files/states.ts'
import { AddressFileFault, type Counts } from '../address-files/table.ts'
import { CliError } from './command.ts'

/** How a file was understood, before anything is changed. */
export interface Understood {
  /** The heading of the addresses, or its number from 1. */
  column: string
  /** Rows below the headings. */
  rows: number
  states?: Counts
  reasons?: Counts
  /** The account's own domains, and how many addresses of each are left out. */
  own_domains: Record<string, number>
}

/** Reads a file. What is refused says how to choose. */
export function readList(name: string, bytes: Uint8Array, choices: Choices): AddressList {
  try {
    return readAddressList(bytes, choices)
  } catch (error) {
    if (!(error instanceof AddressFileFault)) throw error
    throw new CliError('usage', [`${name}: ${error.message}`, ...waysOut(error)].join('\n'))
  }
}

function waysOut({ columns, states: [state] }: AddressFileFault): string[] {
  if (state) {
    const values = Object.keys(state.counts).slice(0, 2).join(',')
    return [`Choose the rows with --where ${JSON.stringify(`${state.column}=${values}`)}, or take all of them: --all`]
  }
  return columns.length > 0 ? ['Name the one of the addresses: --column <name or number>'] : []
}

/** Reads `--where <column>=<value>,...`, which may be repeated. */
export function conditionsOf(text: string, before: Condition[] = []): Condition[] {
  const [, column, values = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (!column) throw new CliError('usage', `--where ${text}: it must be <column>=<value>,...`)
  return [...before, { column: column.trim(), values: values.split(',') }]
}

export const understoodOf = (
  { columnName: column, rows, states, reasons }: AddressList,
  own_domains: Record<string, number>,
): Understood => ({ column, rows, ...(states && { states }), ...(reasons && { reasons }), own_domains })

export function describeUnderstood({ column, rows, states, reasons, own_domains }: Understood): string {
  const own = Object.entries(own_domains).map(([domain, count]) => `${count} of ${domain}`)
  return [
    `${rows} ${rows === 1 ? 'row' : 'rows'}, addresses in column ${column}`,
    ...(states ? [`${states.column}: ${shownCounts(states.counts)}`] : []),
    ...(reasons ? [`${reasons.column}: ${shownCounts(reasons.counts)}`] : []),
    ...(own.length > 0 ? [`left out, because the account sends from their domains: ${own.join(', ')}`] : []),
  ].join('\n')
}
