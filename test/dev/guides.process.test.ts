import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../harness/until-end.ts'

// The pages of `/guides`, as `npm run build` renders them.

const parent = temporaryFolder()
const folder = join(parent, 'dist')
await promisify(execFile)(process.execPath, ['dev/build-guides.ts', folder])
// The page at `/` has its own links: see test/http/site/home-page.test.ts.
const pages = globSync('**/*.html', { cwd: folder, exclude: ['home/**'] }).map((name) => ({
  name,
  html: readFileSync(join(folder, name), 'utf8'),
}))

/** The file behind an address of the guides. */
const fileOf = (path: string) => (/(^|\/)$/.test(path) ? `${path}index.html` : path)

function isServed(href: string, from: string): boolean {
  const base = new URL(from.replace(/\.html$/, '').replace(/(^|\/)index$/, '$1'), 'https://verdict.test/guides/')
  const { pathname, hash } = new URL(href, base)
  if (pathname === '/dashboard') return true
  const path = fileOf(pathname.replace(/^\/guides\//, ''))
  const file = [path, `${path}.html`].map((name) => join(folder, name)).find((name) => existsSync(name))
  return file !== undefined && (hash === '' || readFileSync(file, 'utf8').includes(` id="${hash.slice(1)}"`))
}

test('every Markdown page of the repository is a page of the guides, beside those of the reference', () => {
  const sources = globSync(['*.md', 'docs/*.md', 'docs/{adr,languages,migrating}/*.md', 'client/{,python/}README.md'])
  expect(pages.filter(({ name }) => !name.startsWith('reference/')).length).toBe(sources.length)
})

interface Documented {
  tags: [string]
  parameters?: { name?: string }[]
  responses: object
  'x-codeSamples'?: { label: string }[]
}

test('the reference has every call with its parameters, errors and samples, and every field of every schema', () => {
  const { paths, tags, components } = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))
  const pageOf = (name: string) => pages.find((page) => page.name === `reference/${name.toLowerCase()}.html`)!.html
  const html = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
  const calls = Object.entries<Record<string, Documented>>(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ request: `${verb.toUpperCase()} ${path}`, operation })),
  )
  const missing = calls.flatMap(({ request, operation }) => {
    const page = pageOf(operation.tags[0])
    const names = (operation.parameters ?? []).flatMap(({ name }) => (name ? [`<code>${name}</code>`] : []))
    const samples = (operation['x-codeSamples'] ?? []).map(({ label }) => `<summary>${label}</summary>`)
    const statuses = Object.keys(operation.responses).filter((status) => !status.startsWith('2'))
    const parts = [request, ...names, ...samples, ...statuses.map((status) => `<td>${status}</td>`)]
    return parts.filter((part) => !page.includes(part)).map((part) => `${request}: ${part}`)
  })
  const schemas = pageOf('schemas')
  const fields = Object.entries<{ properties?: object }>(components.schemas).flatMap(([name, { properties = {} }]) => [
    `>${name}</a></h2>`,
    ...Object.keys(properties).map((field) => `<code>${html(field)}</code>`),
  ])
  expect([...missing, ...fields.filter((field) => !schemas.includes(field))]).toEqual([])
  expect(pages.filter(({ name }) => name.startsWith('reference/')).length).toBe(tags.length + 2)
})

test('every link, image, script and style of every page leads to a page, a heading or a file', () => {
  const broken = pages.flatMap(({ name, html }) =>
    [...html.matchAll(/(?:href|src)="([^"]*)"/g)]
      .map(([, href]) => href!.replaceAll('&amp;', '&'))
      .filter((href) => !/^[a-z]+:/.test(href) && !isServed(href, name))
      .map((href) => `${name}: ${href}`),
  )
  expect(broken).toEqual([])
})

test('no page loads anything from another origin, or has an inline script or style', () => {
  for (const { html } of pages) {
    expect(html).not.toMatch(/(?:src|<link[^>]*href)="[a-z]+:/)
    expect(html).not.toMatch(/<script(?![^>]*src=)|<style| style="| on[a-z]+="/)
  }
})

test('the search has every section, with a link to it', () => {
  const found: { href: string; heading: string }[] = JSON.parse(
    readFileSync(join(folder, 'assets/search.json'), 'utf8'),
  )
  expect(found.length).toBeGreaterThan(pages.length)
  expect(found.filter(({ href }) => !isServed(href, 'index.html'))).toEqual([])
  expect(found.map(({ heading }) => heading)).toContain('Never twice')
})

test('the scripts of the pages load only each other', () => {
  for (const name of globSync('assets/*.js', { cwd: folder })) {
    const imports = [...readFileSync(join(folder, name), 'utf8').matchAll(/import\('([^']*)'\)|from '([^']*)'/g)]
    for (const [, dynamic, from] of imports) {
      expect(existsSync(join(folder, dirname(name), (dynamic ?? from)!))).toBe(true)
    }
  }
})
