import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { command, type Print } from './command.ts'

/** A command with what can follow it. */
interface CompletedCommand {
  /** The words that lead to the command, each after a space: ` keys list`. Empty for `verdict` itself. */
  path: string
  isGroup: boolean
  words: Word[]
}

/** A subcommand, an option or an argument's value. */
interface Word {
  text: string
  description: string
  /** Whether a value follows, and the values when they are few. Other values are completed as file names. */
  takesValue?: boolean
  values?: readonly string[]
}

const SCRIPTS = { bash, zsh, fish }
type Shell = keyof typeof SCRIPTS

export const completionCommand = (print: Print) =>
  command(
    'completion',
    'source <(verdict completion bash)    # in ~/.bashrc',
    'source <(verdict completion zsh)     # in ~/.zshrc, after compinit',
    'verdict completion fish > ~/.config/fish/completions/verdict.fish',
  )
    .summary('Print a script that completes commands in a shell')
    .description(
      'Print a script that completes commands, options and their values in a shell, after verdict and npx verdict.',
    )
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(Object.keys(SCRIPTS) as Shell[]))
    .action((shell, _, command) => {
      const script = SCRIPTS[shell](stepsOf(command.parent ?? command))
      print({ json: { shell, script }, text: script })
    })

/** The steps of a command and all below it, read from the definitions that parse the command line. */
function stepsOf(command: CommandUnknownOpts, path = ''): CompletedCommand[] {
  const help = command.createHelp()
  const subcommands = help.visibleCommands(command)
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)]
  const step: CompletedCommand = {
    path,
    isGroup: subcommands.length > 0,
    words: [
      ...subcommands.map((subcommand) => ({
        text: subcommand.name(),
        description: help.subcommandDescription(subcommand),
      })),
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((text) => ({ text, description })),
      ),
      ...options.map(({ flags, long: text, description, required, optional, argChoices: values }) => {
        if (text === undefined) throw new Error(`the option ${flags} has no long name`)
        return { text, description, takesValue: required || optional, values }
      }),
    ],
  }
  return [step, ...subcommands.flatMap((subcommand) => stepsOf(subcommand, `${path} ${subcommand.name()}`))]
}

const quotedPaths = (steps: CompletedCommand[]) => steps.flatMap(({ path }) => (path === '' ? [] : [`'${path}'`]))

/** The places where a value is completed, such as ` emails --status`, by the values; none when any value is valid. */
function valuesOf(steps: CompletedCommand[]): Map<string, string[]> {
  const places = steps.flatMap(({ path, words }) =>
    words.flatMap(({ text, takesValue, values = [] }) =>
      takesValue ? [{ place: `'${path} ${text}'`, values: values.join(' ') }] : [],
    ),
  )
  const byValues = Map.groupBy(places, ({ values }) => values)
  return new Map([...byValues].map(([values, found]) => [values, found.map(({ place }) => place)]))
}

function bash(steps: CompletedCommand[]): string {
  return `# Completes verdict in bash.
_verdict() {
  local word=\${COMP_WORDS[COMP_CWORD]} at= i words=
  if [[ \${COMP_WORDS[0]} == npx && ($COMP_CWORD -lt 2 || \${COMP_WORDS[1]} != verdict) ]]; then return; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${quotedPaths(steps).join(' | ')}) at+=" \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at \${COMP_WORDS[COMP_CWORD - 1]}" in
${[...valuesOf(steps)].map(([values, places]) => `    ${places.join(' | ')}) words='${values}' ;;`).join('\n')}
    *)
      case "$at" in
${steps.map(({ path, words }) => `        '${path}') words='${words.map(({ text }) => text).join(' ')}' ;;`).join('\n')}
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _verdict verdict npx`
}

function zsh(steps: CompletedCommand[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  return `#compdef verdict npx
# Completes verdict in zsh.
_verdict() {
  local at= i
  local -a found
  if [[ $words[1] == npx && ( $CURRENT -lt 3 || $words[2] != verdict ) ]]; then _files; return; fi
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
      (${quotedPaths(steps).join(' | ')}) at+=" \${words[i]}" ;;
    esac
  done
  case "$at \${words[CURRENT - 1]}" in
${[...valuesOf(steps)].map(([values, places]) => `    (${places.join(' | ')}) found=(${values}) ;;`).join('\n')}
    (*)
      case "$at" in
${steps
  .map(({ path, words }) => {
    const entries = words.map(({ text, description }) => `          ${quoted(`${text}:${description}`)}`)
    return `        ('${path}') found=(\n${entries.join('\n')}\n        ) ;;`
  })
  .join('\n')}
      esac
      ;;
  esac
  _describe -o verdict found || _files
}
if [ "$funcstack[1]" = _verdict ]; then _verdict "$@"; else compdef _verdict verdict npx; fi`
}

function fish(steps: CompletedCommand[]): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", `\\'`)}'`
  const lines = steps.flatMap(({ path, isGroup, words }) => {
    const at = `complete -c verdict -c npx -n ${quoted(`test (__verdict_at) = '${path}'`)}`
    const entries = words.map(({ text, description, takesValue, values }) => {
      const word = text.startsWith('--') ? `-l ${text.slice(2)}` : `-a ${text}`
      const value = !takesValue ? '' : values ? ` -x -a ${quoted(values.join(' '))}` : ' -r -F'
      return `${at} ${word}${value} -d ${quoted(description)}`
    })
    return isGroup ? [`${at} -f`, ...entries] : entries
  })
  return `# Completes verdict in fish.
function __verdict_at
  set -l at ''
  set -l words (commandline -opc)
  if test "$words[1]" = npx; and test "$words[2]" != verdict
    echo elsewhere
    return
  end
  for word in $words[2..]
    switch "$at $word"
      case ${quotedPaths(steps).join(' ')}
        set at "$at $word"
    end
  end
  printf '%s\\n' $at
end
${lines.join('\n')}`
}
