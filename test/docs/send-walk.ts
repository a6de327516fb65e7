import { readFileSync } from 'node:fs'

/**
 * The files of a send that send-walk.txt lists, and their number in docs/code.md. A line is a folder and its files, in
 * the order of their first function. A send waits for several things at once, so neighbours may belong to different
 * steps.
 */
export function sendWalk(): { files: string[]; number: number } {
  const [, number] = readFileSync('docs/code.md', 'utf8').match(/enters (\d+) files/)!
  const files = readFileSync('test/docs/send-walk.txt', 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([folder, ...names]) => names.map((name) => `${folder}${name}.ts`))
  return { files, number: Number(number) }
}
