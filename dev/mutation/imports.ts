import { globSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseSync } from 'vite'

/** The modules that each file of this repository loads. Types are erased, so an import of types alone loads nothing. */
export function importsOf(root: string): Map<string, string[]> {
  const files = globSync(['*.ts', '{address-files,gen,net,mail,server,cli,client,workflows,dev,test,bench}/**/*.ts'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  })
  return new Map(files.map((name) => [resolve(root, name), loadedBy(resolve(root, name))]))
}

function loadedBy(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  const { module } = parseSync(file, source, { lang: 'ts' })
  const imported = module.staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value)
  const exported = module.staticExports
    .flatMap(({ entries }) => entries.filter(({ isType }) => !isType))
    .flatMap(({ moduleRequest }) => (moduleRequest ? [moduleRequest.value] : []))
  const dynamic = module.dynamicImports.map(({ moduleRequest: { start, end } }) => source.slice(start + 1, end - 1))
  return [...imported, ...exported, ...dynamic]
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => resolve(dirname(file), specifier))
}

/** The files that load one of `files`, directly or through others, and these files themselves. */
export function dependentsOf(imports: Map<string, string[]>, files: string[]): Set<string> {
  const importers = new Map<string, string[]>()
  for (const [file, loaded] of imports) {
    for (const module of loaded) importers.set(module, [...(importers.get(module) ?? []), file])
  }
  const found = new Set(files)
  for (const file of found) for (const importer of importers.get(file) ?? []) found.add(importer)
  return found
}
