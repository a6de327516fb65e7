import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'

// Loads the tests' modules again, one of them with another text. The worker of Vitest stays, and what does not depend
// on the mutated file stays loaded, so that one mutant takes about the time of its tests. Threads that the tests start
// load everything anew: they find the mutant in their environment.

/** One run of a test file. */
export interface Load {
  /** The query of the modules that are loaded again. */
  id: number
  /** The files to load again: the mutated one, and those that import it, directly or not. */
  files: string[]
  mutated?: { file: string; text: string }
}

const VARIABLE = 'MUTATED_MODULE'
let load: { id: number; files: Set<string>; mutated?: Load['mutated'] } = { id: 0, files: new Set() }

export function use({ id, files, mutated }: Load): void {
  load = { id, files: new Set(files), mutated }
  process.env[VARIABLE] = mutated ? JSON.stringify(mutated) : ''
}

if (!isMainThread && process.env[VARIABLE]) {
  const mutated = JSON.parse(process.env[VARIABLE])
  load = { id: 1, files: new Set([mutated.file]), mutated }
}

/** The query of the modules of a load. */
const QUERY = /[?&]load=\d+$/
export const queryOf = (id: number) => `load=${id}`

const stripped = new Map<string, string>()

/** The text of a file without its types. Only the mutated text of a file is new to each load. */
function strippedText(file: string): string {
  if (load.mutated?.file === file) return stripTypeScriptTypes(load.mutated.text)
  let text = stripped.get(file)
  if (text === undefined) {
    text = stripTypeScriptTypes(readFileSync(file, 'utf8'))
    stripped.set(file, text)
  }
  return text
}

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    if (!resolved.url.startsWith('file:') || !load.files.has(fileURLToPath(resolved.url))) return resolved
    return { ...resolved, url: `${resolved.url}${resolved.url.includes('?') ? '&' : '?'}${queryOf(load.id)}` }
  },
  load(url, context, nextLoad) {
    if (!QUERY.test(url)) return nextLoad(url, context)
    return { format: 'module', source: strippedText(fileURLToPath(url)), shortCircuit: true }
  },
})
