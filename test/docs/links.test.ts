import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { anchorOf } from '../../dev/guides/guides.ts'

// Links between the guides. adr.test.ts checks those of the records.

const GUIDES = globSync([
  '*.md',
  '{client,client/python,mail,test}/*.md',
  'docs/*.md',
  'docs/{languages,migrating}/*.md',
])

/** The anchors of a guide's headings. */
function anchorsOf(file: string): string[] {
  const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!)
  return headings.map(anchorOf)
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

const SERVER = ['', 'access/', 'http/', 'services/', 'webhooks/'].map((room) => `server/${room}`)
/** Paths from the root, or from a folder that the page is about. */
const FOLDERS = ['', 'cli/', 'mail/', ...SERVER, 'dashboard/']
/** Folders that a command makes. */
const MADE = ['screenshots/']

test.for(['CONTRIBUTING.md', 'docs/code.md', 'mail/README.md'])('every path that %s names leads to a file', (page) => {
  const names = [...readFileSync(page, 'utf8').matchAll(/`([a-z][\w.-]*\/[\w./-]*)`/g)].map(([, name]) => name!)
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter((name) => !MADE.includes(name) && !FOLDERS.some((folder) => existsSync(folder + name)))).toEqual(
    [],
  )
})
