import { type Command, EXIT } from './command.ts'

/** Every command in a line. */
export function listOf(commands: Record<string, Command>): string {
  return aligned(Object.entries(commands).map(([name, command]) => [usage(name, command), command.summary]))
}

/** Every command in a line, and what the exit codes mean. */
export function overview(commands: Record<string, Command>): string {
  return `Usage: verdict <command> [options]

${listOf(commands)}

Every command takes --json, and --help for its options and examples. --version prints the version.

accounts, keys, secrets and doctor work on the database that DATABASE_URL names, with ENCRYPTION_KEYS. send, events, replay, webhook,
import, suppression and status call the API at VERDICT_URL with VERDICT_API_KEY. domains call the API when one of these two is set, and work
on the database otherwise. By default, every command works with the instance that npm start runs in this folder.

Exit codes:
${aligned(Object.values(EXIT).map(({ code, means }) => [String(code), means]))}`
}

export function helpOf(name: string, command: Command): string {
  const options = Object.entries(command.options).map(([option, { type, value, help, required, multiple }]) => {
    const more = [required && 'required', multiple && 'repeatable'].filter(Boolean).join(', ')
    return [`--${option}${type === 'string' ? ` <${value}>` : ''}`, more ? `${help} (${more})` : help] as const
  })
  return `Usage: verdict ${usage(name, command)} [options]

${command.summary}

${aligned([...options, ['--json', 'print JSON'], ['--help', 'print this']])}

Examples:
${command.examples.map((example) => `  ${example}`).join('\n')}`
}

function usage(name: string, { words = [] }: Command): string {
  return [name, ...words.map(shownWord)].join(' ')
}

export function shownWord(word: string): string {
  return word.endsWith('?') ? `[${word.slice(0, -1)}]` : `<${word}>`
}

function aligned(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([left]) => left.length))
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}
