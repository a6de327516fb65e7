import { type Guide, hrefBetween, OVERVIEW } from './guides.ts'
import { escapedHtml, type RenderedGuide } from './render.ts'

interface GuideGroup {
  name: string
  entries: { name: string; path: string }[]
}

/** The groups of the overview, whose tables name every guide. */
export function guideGroups(guides: readonly Guide[]): GuideGroup[] {
  const overview = guides.find(({ file }) => file === OVERVIEW)!
  return overview.text
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const links = [...part.matchAll(/^\| \[(.*?)\]\((.*?)\)/gm)]
      const entries = links.map(([, name = '', link = '']) => {
        const file = new URL(link, 'file:///docs/').pathname.slice(1)
        return { name, path: guides.find((guide) => guide.file === file)!.path }
      })
      return { name: part.replace(/\n.*/s, ''), entries }
    })
}

/** The whole page of a guide. It loads nothing from another origin and has no inline script or style. */
export function guidePage(guide: Guide, { html, headings }: RenderedGuide, groups: readonly GuideGroup[]): string {
  const to = (path: string) => escapedHtml(hrefBetween(guide.path, path))
  const lists = groups.map(({ name, entries }) => {
    const items = entries.map(
      ({ name, path }) =>
        `<li><a href="${to(path)}"${path === guide.path ? ' aria-current="page"' : ''}>${escapedHtml(name)}</a></li>`,
    )
    return `<h2>${name}</h2>\n<ul>${items.join('')}</ul>`
  })
  const contents = headings.filter(({ depth }) => depth === 2)
  const aside =
    contents.length > 1
      ? `<nav class="contents" aria-label="On this page"><h2>On this page</h2>
<ul>${contents.map(({ text, anchor }) => `<li><a href="#${anchor}">${escapedHtml(text)}</a></li>`).join('')}</ul></nav>`
      : ''
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapedHtml(guide.title)} · Verdict</title>
<link rel="icon" type="image/svg+xml" href="${to('assets/icon.svg')}">
<link rel="stylesheet" href="${to('assets/guides.css')}">
<script src="${to('assets/scheme.js')}"></script>
<script type="module" src="${to('assets/guides.js')}"></script>
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<header>
<a class="name" href="${to('index')}">Verdict <span>Guides</span></a>
<form role="search" data-root="${to('index')}"><input type="search" name="q" placeholder="Search the guides" aria-label="Search the guides" autocomplete="off"><ol hidden></ol></form>
<nav aria-label="Verdict"><a href="${to('reference/index')}">Reference</a><a href="${to('../dashboard')}">Dashboard</a></nav>
</header>
<div class="columns">
<nav class="guides" aria-label="Guides"><details open><summary>All guides</summary>
${lists.join('\n')}
</details></nav>
<main id="text">
${html}</main>
${aside}
</div>
</body>
</html>
`
}
