import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

// Inputs that once broke a law. `test/fuzz/found.process.test.ts` checks each of them again.

const FOLDER = join(import.meta.dirname, 'found')

export interface Found {
  target: string
  file: string
  input: unknown
}

/** Writes the input of a find, and returns its file. */
export function keep(target: string, input: unknown, folder = FOLDER): string {
  const text = `${JSON.stringify(input, null, 2)}\n`
  const file = join(folder, target, `${createHash('sha256').update(text).digest('hex').slice(0, 12)}.json`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

export function kept(folder = FOLDER): Found[] {
  return globSync(join(folder, '*/*.json'))
    .toSorted()
    .map((file) => ({ target: basename(dirname(file)), file, input: JSON.parse(readFileSync(file, 'utf8')) }))
}
