export interface Snippet {
  /** Where it begins. */
  line: number
  shell: string
  /** The JSON the text says it answers, when it says so. */
  answer?: unknown
}

/** The blocks of a Markdown text marked `sh run`, each with the `json` block that follows it directly. */
export function snippets(markdown: string): Snippet[] {
  const blocks = markdown.matchAll(/^```sh run\n(?<shell>.*?)^```\n(?:\n```json\n(?<answer>.*?)^```\n)?/gms)
  return [...blocks].map(({ index, groups }) => ({
    line: markdown.slice(0, index).split('\n').length,
    shell: groups!.shell!,
    answer: groups!.answer === undefined ? undefined : JSON.parse(groups!.answer),
  }))
}
