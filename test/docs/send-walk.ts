import { readFileSync } from 'node:fs'

/** The files of a send that docs/code.md lists, and the number that it gives. */
export function sendWalk(): { files: string[]; number: number } {
  const [, number, walk] = readFileSync('docs/code.md', 'utf8').match(
    /: (\d+) files\. A\n[^`]*`\.ts`[^`]*```text\n([^`]*)```/,
  )!
  const files = walk!
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([folder, ...names]) => names.map((name) => `${folder}${name}.ts`))
  return { files, number: Number(number) }
}
