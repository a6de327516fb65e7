/** An address of a file. A text that is not an address is sent like any other: the service counts it as faulty. */
export interface AddressLine {
  /** The line where its record begins, or the position of its entry in JSON, from 1. */
  line: number
  text: string
}

export interface AddressList {
  addresses: AddressLine[]
  /** Lines of the file, or entries of JSON. */
  lines: number
  /** Whether the first line names the columns. */
  hasHeader: boolean
  /** What the first line has in each column. Empty for JSON. */
  columns: string[]
  /** The column of the addresses, from 0. */
  column: number
}

/** Why a file is refused as a whole. */
export class AddressFileFault extends Error {}

/** No column has an address, or none has the name that was asked for. */
export class ColumnFault extends AddressFileFault {
  readonly columns: string[]
  constructor(message: string, columns: string[]) {
    super(message)
    this.columns = columns
  }
}
