// The rows that a statement reads as JSON. One list of columns gives both the SQL of the recordset and the type of the
// row in TypeScript, so neither can have a column that the other lacks.

/** SQL types, and what a row has for them. Dates and times are ISO 8601. */
interface SqlTypes {
  uuid: string
  text: string
  smallint: number
  int: number
  float8: number
  boolean: boolean
  timestamptz: string
  date: string
  json: unknown
}

type ColumnType = keyof SqlTypes | `${keyof SqlTypes} null`

/** The columns of a row with their types: `{ id: 'uuid', reason: 'text null' }`. */
export type Columns = Readonly<Record<string, ColumnType>>

/** A row with these columns. A column that may be null may also be undefined, which JSON leaves out. */
export type RowOf<Shape extends Columns> = {
  [Name in keyof Shape]: Shape[Name] extends keyof SqlTypes
    ? SqlTypes[Shape[Name]]
    : Shape[Name] extends `${infer Type extends keyof SqlTypes} null`
      ? SqlTypes[Type] | null | undefined
      : never
}

/** SQL: the column definitions of `json_to_recordset(...) as r(...)`. */
export const recordset = (columns: Columns): string =>
  Object.entries(columns)
    .map(([name, type]) => `${name} ${type.replace(' null', '')}`)
    .join(', ')
