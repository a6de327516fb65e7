import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

// Links between the guides. adr.test.ts checks those of the records.

const GUIDES = globSync(['*.md', 'client/*.md', 'docs/*.md', 'docs/migrating/*.md'])

/** The anchors of a guide's headings, as GitHub makes them. */
function anchorsOf(file: string): string[] {
  const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
}

function isBroken(link: string, from: string): boolean {
  const [path, anchor] = link.split('#') as [string, string?]
  const file = path === '' ? from : join(dirname(from), path)
  return !existsSync(file) || (anchor !== undefined && !anchorsOf(file).includes(anchor))
}

test.for(GUIDES)('every link in %s leads to a file and a heading', (guide) => {
  const links = [...readFileSync(guide, 'utf8').matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link]) => link!)
  expect(links.filter((link) => isBroken(link, guide))).toEqual([])
})

test('every path that CONTRIBUTING.md names leads to a file', () => {
  const names = [...readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/`([a-z][\w.-]*\/[\w./-]+)`/g)].map(
    ([, name]) => name!,
  )
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => !existsSync(name))).toEqual([])
})
