export interface Snippet {
  /** Line number of its first line, starting at 1. */
  line: number
  /** The language, as the fence says it. */
  language: string
  /** What the fence says after the language: how the block is used. */
  mark: string
  text: string
}

/** A snippet that runs: a command, or a file to write. */
export interface Step {
  line: number
  shell: string
  /** The JSON response that the text shows for it, if any. */
  answer?: unknown
  /** The output that the text shows for it, if it is not JSON. */
  output?: string
}

/** Why a snippet does not run. The fence says it: `js not-run=another-service`. */
export const REASONS = {
  'another-service': 'code for the service that the reader leaves',
  'by-the-test': 'the test runs it itself, in another way',
  'your-machine': "needs the reader's own machine, DNS or mail",
} as const

/** The languages of code. A block in another language (`json`, `nginx`, none) is text to look at. */
export const CODE = ['sh', 'js', 'ts', 'python', 'go', 'php', 'java', 'ruby', 'rust', 'yaml']

/** The fenced blocks of a Markdown text, also those within a list. */
export function snippets(markdown: string): Snippet[] {
  const blocks = markdown.matchAll(
    /^(?<indent> *)```(?<language>\w*)(?: (?<mark>[^\n]*))?\n(?<text>.*?)^\k<indent>```$/gms,
  )
  return [...blocks].map(({ index, groups }) => ({
    line: markdown.slice(0, index).split('\n').length,
    language: groups!.language!,
    mark: groups!.mark ?? '',
    text: groups!.text!,
  }))
}

/** Whether it says how it runs, or why it does not. */
export function isMarked({ language, mark }: Snippet): boolean {
  // test/client runs TypeScript, test/real/python-client.test.ts Python.
  if (mark === 'run') return ['sh', 'ts', 'python'].includes(language)
  const [name, value = ''] = mark.split('=') as [string, string?]
  return mark === 'verify' || (name === 'file' && value !== '') || (name === 'not-run' && value in REASONS)
}

/**
 * What a reader does with a guide: `sh run` is pasted, `js file=name.mjs` is saved under this name. A `json` or `text`
 * block that directly follows a command shows what it prints.
 */
export function steps(markdown: string): Step[] {
  const all = snippets(markdown)
  return all.flatMap(({ line, language, mark, text }, i) => {
    if (mark.startsWith('file=')) return [{ line, shell: saved(mark.slice('file='.length), text) }]
    if (language !== 'sh' || mark !== 'run') return []
    const next = all[i + 1]
    const follows = next?.mark === '' && next.line === line + text.split('\n').length + 2
    const answer = follows && next.language === 'json' ? JSON.parse(next.text) : undefined
    const output = follows && next.language === 'text' ? next.text : undefined
    return [{ line, shell: text, answer, output }]
  })
}

const saved = (name: string, text: string) =>
  `mkdir -p "$(dirname "${name}")"\ncat > "${name}" <<'END OF FILE'\n${text}END OF FILE\n`
