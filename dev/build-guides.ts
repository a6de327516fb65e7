import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUILT_GUIDES, BUILT_OPENAPI, HOME } from '../server/http/site/built-files.ts'
import { compress, ifInstalled, replaceFolder } from './built-folder.ts'

// `node dev/build-guides.ts [folder]`, part of `npm run build`: renders the guides of `docs/` and the reference
// into the pages that the service shows at `/guides`, with an index for their search. It reads the built OpenAPI
// document.

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ASSETS = join(ROOT, 'dev/guides/assets')

async function build(folder: string, { renderGuide }: typeof import('./guides/render.ts')) {
  const { hrefBetween, readGuides } = await import('./guides/guides.ts')
  const { guideGroups, guidePage } = await import('./guides/page.ts')
  const { referenceGuides } = await import('./guides/reference.ts')
  const own = readGuides()
  const reference = referenceGuides(JSON.parse(await readFile(BUILT_OPENAPI, 'utf8')))
  const guides = [...own, ...reference]
  const groups = guideGroups(own)
  const calls = [{ name: 'API reference', entries: reference.map(({ title, path }) => ({ name: title, path })) }]
  const found: object[] = []
  for (const guide of guides) {
    const rendered = renderGuide(guide, guides)
    await write(
      join(folder, `${guide.path}.html`),
      guidePage(guide, rendered, reference.includes(guide) ? calls : groups),
    )
    for (const file of rendered.files) await copy(file, join(folder, file.slice('docs/'.length)))
    for (const { heading, anchor, text } of rendered.sections) {
      const href = hrefBetween('index', guide.path) + (anchor && `#${anchor}`)
      found.push({ id: found.length, title: guide.title, heading, href, text })
    }
  }
  const look = await readFile(join(ROOT, 'dashboard/look/look.css'), 'utf8')
  await write(join(folder, 'assets/guides.css'), look + (await readFile(join(ASSETS, 'guides.css'), 'utf8')))
  await write(join(folder, 'assets/search.json'), JSON.stringify(found))
  for (const name of ['guides.js', 'scheme.js']) await copy(join(ASSETS, name), join(folder, 'assets', name))
  await copy(join(ASSETS, 'home.html'), join(folder, HOME))
  await copy(join(ROOT, 'dashboard/look/icon.svg'), join(folder, 'assets/icon.svg'))
  await copy(fileURLToPath(import.meta.resolve('minisearch')), join(folder, 'assets/minisearch.js'))
  return guides.length
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

async function copy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  await cp(from, to)
}

process.chdir(ROOT)
const place = process.argv[2] ?? BUILT_GUIDES
const renderer = await ifInstalled(() => import('./guides/render.ts'))
if (renderer) {
  const startedAt = performance.now()
  const folder = await mkdtemp(join(dirname(place), '.dist-'))
  try {
    const pages = await build(folder, renderer)
    await compress(folder)
    await chmod(folder, 0o755)
    await replaceFolder(folder, place)
    console.log(`${pages} guides are built (${((performance.now() - startedAt) / 1000).toFixed(1)} s).`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
} else {
  console.log('The guides are not built: Marked is a development dependency, and none are installed.')
}
