import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { snippets } from '../docs/snippets.ts'
import { AS_POSTGRES, programOf } from './debian-postgres.ts'

type Environment = Record<'DATABASE_URL' | 'BACKUP' | 'DATA' | 'MOMENT', string>

/** The commands of docs/backup.md, by the comment in their first line. */
function commandOf(name: string): string {
  const all = snippets(readFileSync('docs/backup.md', 'utf8')).map(({ text }) => text.replaceAll(/^ {3}/gm, ''))
  const command = all.find((text) => text.startsWith(`# ${name}\n`))
  if (!command) throw new Error(`docs/backup.md has no command "# ${name}"`)
  return command
}

const shell = (name: string): [string, string[]] => {
  const [command, ...args] = [...AS_POSTGRES, 'bash', '-euo', 'pipefail', '-c', commandOf(name)]
  return [command!, args]
}

/** PostgreSQL's programs first: Debian's wrappers in /usr/bin choose a version by its own clusters. */
const environment = (variables: Partial<Environment>) => ({
  cwd: '/',
  env: { PATH: `${dirname(programOf('postgres'))}:${process.env.PATH}`, ...variables },
})

/** Runs commands of the guide as the user of PostgreSQL. Returns what they print. */
export async function runCommands(name: string, variables: Partial<Environment>): Promise<string> {
  const { stdout } = await promisify(execFile)(...shell(name), environment(variables))
  return stdout.trim()
}

/** Starts a command of the guide that keeps running. */
export function startCommand(name: string, variables: Partial<Environment>): ChildProcess {
  return spawn(...shell(name), { ...environment(variables), stdio: ['ignore', 'ignore', 'inherit'] })
}
