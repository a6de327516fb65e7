export interface Snippet {
  /** Line number of its first line, starting at 1. */
  line: number
  shell: string
  /** The JSON response that the text shows for it, if any. */
  answer?: unknown
}

/** The blocks of a Markdown text marked `sh run`, each with the `json` block that directly follows it. */
export function snippets(markdown: string): Snippet[] {
  const blocks = markdown.matchAll(/^```sh run\n(?<shell>.*?)^```\n(?:\n```json\n(?<answer>.*?)^```\n)?/gms)
  return [...blocks].map(({ index, groups }) => ({
    line: markdown.slice(0, index).split('\n').length,
    shell: groups!.shell!,
    answer: groups!.answer === undefined ? undefined : JSON.parse(groups!.answer),
  }))
}
