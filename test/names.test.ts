import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// A name means one thing: a reader who has seen it once knows it in every room, and a search finds its one place.

const DECLARATION =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const enum|const|let|class|interface|type|enum) (\w+)/gm

test('no two files of the service export the same name', () => {
  const files = new Map<string, Set<string>>()
  for (const file of globSync('{server,mail,net,workflows}/**/*.ts')) {
    for (const [, name] of readFileSync(file, 'utf8').matchAll(DECLARATION)) {
      files.set(name!, (files.get(name!) ?? new Set()).add(file))
    }
  }
  const twice = [...files].filter(([, { size }]) => size > 1)
  expect(twice.map(([name, where]) => `${name}: ${[...where].join(', ')}`)).toEqual([])
})
