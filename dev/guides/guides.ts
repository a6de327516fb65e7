import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

/** A page of the guides: a Markdown file and its address below `/guides/`, such as `migrating/ses`. */
export interface Guide {
  file: string
  path: string
  title: string
  text: string
}

/** The list of guides in their groups, which is also the first page. */
export const OVERVIEW = 'docs/README.md'

/** Every guide in the repository, with the decision records and the pages in its root. */
export function readGuides(): Guide[] {
  const files = globSync([
    '*.md',
    'docs/*.md',
    'docs/{adr,languages,migrating}/*.md',
    'client/{,python/}README.md',
  ]).toSorted()
  return files.map((file) => {
    const text = readFileSync(file, 'utf8')
    const [, title] = text.match(/^# (.*)$/m) ?? []
    if (title === undefined) throw new Error(`${file} has no title`)
    return { file, path: pathOf(file), title: title.replaceAll('`', ''), text }
  })
}

function pathOf(file: string): string {
  if (file === OVERVIEW) return 'index'
  if (file === 'client/README.md') return 'client'
  if (file === 'client/python/README.md') return 'client-python'
  if (!file.includes('/')) return `about/${file.replace(/\.md$/, '').toLowerCase()}`
  return relative('docs', file)
    .replace(/\.md$/, '')
    .replace(/\/README$/, '/index')
}

/** Where a link of a guide leads: to another guide, or to a file in `docs/` that is served beside them. */
export type LinkTarget =
  | { kind: 'guide'; path: string; anchor: string }
  | { kind: 'file'; file: string }
  | { kind: 'none' }

/** Links to code and to deployment files lead nowhere: only a checkout has them. */
export function targetOf(link: string, from: Guide, guides: readonly Guide[]): LinkTarget {
  const [name = '', anchor = ''] = link.split('#')
  const file = name === '' ? from.file : normalize(join(dirname(from.file), name))
  const guide = guides.find((other) => other.file === file)
  if (guide) return { kind: 'guide', path: guide.path, anchor: anchor && `#${anchor}` }
  return file.startsWith('docs/') && /\.\w+$/.test(file) && existsSync(file) ? { kind: 'file', file } : { kind: 'none' }
}

/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-')
}

/** A link from one page to another, so that the guides work below any prefix of a proxy. */
export function hrefBetween(from: string, to: string): string {
  const short = (path: string) => path.replace(/(^|\/)index$/, '$1')
  const href = relative(dirname(`/guides/${from}`), `/guides/${short(to)}`)
  const isFolder = to.endsWith('index')
  return isFolder ? `${href || '.'}/` : href
}
