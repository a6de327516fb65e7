import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'

const FOLDER = 'docs/adr'
const SECTIONS = ['## Context', '## Decision', '## Consequences']
const STATUS = /^Status: Accepted(?:, amended by \[ADR .+)?$/m
const CODE_FILE = /^[\w.-]+\.(?:ts|mjs|md|json|sql|proto)$/

const records = globSync(`${FOLDER}/[0-9]*.md`)
  .toSorted()
  .map((path) => ({ file: basename(path), text: readFileSync(path, 'utf8') }))
/** The list of all records. */
const overview = readFileSync(`${FOLDER}/README.md`, 'utf8')
const codeFiles = new Set(
  globSync('{bench,cli,client,dashboard,dev,fuzz,gen,kills,mail,net,server,test,workflows}/**/*.*').map((path) =>
    basename(path),
  ),
)

/** Names of code files in backticks, without a folder: test/paths.test.ts looks for whole paths. */
function namesIn(text: string): string[] {
  const names = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name!)
  return names.filter((name) => CODE_FILE.test(name))
}

test.each(records)('$file has a number, a status and the sections of a record', ({ file, text }) => {
  expect(text).toMatch(new RegExp(`^# ${Number(file.slice(0, 4))}\\. \\S`))
  expect(text).toMatch(STATUS)
  expect(text.match(/^## .*$/gm)).toEqual(SECTIONS)
})

test('the overview lists every record once, by its title', () => {
  const listed = [...overview.matchAll(/^- \[(.*)\]\((.*)\)$/gm)].map(([, title, file]) => `${file}: ${title}`)
  const titles = records.map(({ file, text }) => `${file}: ${text.match(/^# (.*)$/m)![1]}`)
  expect(listed.toSorted()).toEqual(titles)
})

test.each([...records, { file: 'README.md', text: overview }])(
  'every name of a file and every link in $file leads to a file',
  ({ text }) => {
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, link]) => `${FOLDER}/${link}`)
    expect(namesIn(text).filter((name) => !codeFiles.has(name))).toEqual([])
    expect(links.filter((link) => !existsSync(link))).toEqual([])
  },
)
