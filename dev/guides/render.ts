import { Marked, type Tokens } from 'marked'
import { anchorOf, type Guide, hrefBetween, type LinkTarget, targetOf } from './guides.ts'

export interface Heading {
  depth: number
  text: string
  anchor: string
}

/** A part of a guide that the search finds. */
export interface GuideSection {
  heading: string
  anchor: string
  text: string
}

export interface RenderedGuide {
  html: string
  headings: Heading[]
  sections: GuideSection[]
  /** The files in `docs/` that it links to or shows. */
  files: string[]
}

/** A part that a reader unfolds. */
const FOLDED = /^(?:<details(?: open)?><summary>[\w ]+<\/summary>|<\/details>)$/

export const escapedHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** Renders one guide. Links between guides become links between pages. */
export function renderGuide(guide: Guide, guides: readonly Guide[]): RenderedGuide {
  const headings: Heading[] = []
  const sections: GuideSection[] = [{ heading: guide.title, anchor: '', text: '' }]
  const files: string[] = []

  function hrefOf(link: string): string | undefined {
    if (/^[a-z]+:/.test(link)) return link
    const target: LinkTarget = targetOf(link, guide, guides)
    if (target.kind === 'none') return undefined
    if (target.kind === 'guide') return hrefBetween(guide.path, target.path) + target.anchor
    files.push(target.file)
    return hrefBetween(guide.path, target.file.slice('docs/'.length))
  }

  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const anchor = anchorOf(text)
        const content = this.parser.parseInline(tokens)
        const plain = text.replaceAll('`', '')
        if (depth > 1) {
          headings.push({ depth, text: plain, anchor })
          sections.push({ heading: plain, anchor, text: '' })
        }
        return `<h${depth} id="${anchor}"><a class="anchor" href="#${anchor}">${content}</a></h${depth}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const content = this.parser.parseInline(tokens)
        const to = hrefOf(href)
        return to === undefined ? content : `<a href="${escapedHtml(to)}">${content}</a>`
      },
      image({ href, text }: Tokens.Image) {
        const image = (file: string, scheme = '') =>
          `<img src="${escapedHtml(hrefOf(file) ?? file)}" alt="${escapedHtml(text)}" loading="lazy"${scheme}>`
        if (!href.endsWith('.light.png')) return image(href)
        const dark = href.replace(/light\.png$/, 'dark.png')
        return image(href, ' data-scheme="light"') + image(dark, ' data-scheme="dark"')
      },
      code({ text, lang = '' }: Tokens.Code) {
        return `<pre tabindex="0"><code class="language-${escapedHtml(lang.replace(/ .*/s, ''))}">${escapedHtml(text)}\n</code></pre>\n`
      },
      table(token: Tokens.Table) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
        const body = token.rows.map((cells) => row(cells, 'td')).join('')
        return `<div class="wide" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`
      },
      html: ({ text }: Tokens.HTML | Tokens.Tag) => {
        if (text.startsWith('<!--')) return ''
        return FOLDED.test(text.trim()) ? text : escapedHtml(text)
      },
    },
  })
  const tokens = marked.lexer(guide.text)
  const html = marked.parser(tokens)
  // The text of a section is that of the blocks between its heading and the next one.
  let at = -1
  for (const token of tokens) {
    const section = sections[Math.max(at, 0)]
    if (token.type === 'heading') at++
    else if (section) section.text += `${plainText(token.raw)} `
  }
  return { html, headings, sections, files }
}

/** The words of a piece of Markdown. */
function plainText(markdown: string): string {
  return markdown
    .replaceAll(/\]\([^)]*\)/g, ' ')
    .replaceAll(/[`*|#[\]]|-{3,}/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
