import { readFile } from 'node:fs/promises'

/** For a person who has to know why something ended. */
export async function lastLines(logFile: string): Promise<string> {
  const lines = (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-5)
  return `The last lines of ${logFile}:\n${lines.join('\n')}`
}
