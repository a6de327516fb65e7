import type { Invalid, Refusal } from '../address-files/import-preview.ts'

export interface ImportCounts {
  imported: number
  already_suppressed: number
  invalid: number
  total: number
}

/** The service's response to one request of an import. */
export type ImportResponse = ImportCounts & {
  errors: Refusal[]
  /** The first addresses of each kind, of a dry run. */
  preview?: { added?: string[]; known?: string[] }
}

export const invalidText = ({ line, email, error }: Invalid) => `  line ${line}: ${error}: ${JSON.stringify(email)}`
