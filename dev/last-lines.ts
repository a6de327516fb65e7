import { readFile } from 'node:fs/promises'

/** Quotes the end of a log, which usually says why a program ended. */
export async function lastLines(logFile: string): Promise<string> {
  const lines = (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-5)
  return `The last lines of ${logFile}:\n${lines.join('\n')}`
}
