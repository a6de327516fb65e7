import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings'
import packageJson from '../package.json' with { type: 'json' }
import { CliError, EXIT, type Output, type Print } from './command.ts'
import { beginCommand, notUnderstood } from './service.ts'

/** Loaded when it is called: the database driver alone takes longer to load than a call of the API takes. */
type Loader = () => Promise<(print: Print) => CommandUnknownOpts>

/** In the order of the help, under the headings of the help. */
const COMMANDS: Record<string, Record<string, Loader>> = {
  'Commands that call the API:': {
    send: async () => (await import('./emails.ts')).sendCommand,
    email: async () => (await import('./email.ts')).emailCommand,
    open: async () => (await import('./open.ts')).openCommand,
    emails: async () => (await import('./email-list.ts')).emailsCommand,
    'refused-sends': async () => (await import('./refused-sends.ts')).refusedSendsCommand,
    events: async () => (await import('./events.ts')).eventsCommand,
    replay: async () => (await import('./events.ts')).replayCommand,
    webhook: async () => (await import('./webhook.ts')).webhookCommand,
    suppression: async () => (await import('./suppression.ts')).suppressionCommand,
    import: async () => (await import('./import.ts')).importCommand,
    stats: async () => (await import('./stats.ts')).statsCommand,
    limits: async () => (await import('./limits.ts')).limitsCommand,
    status: async () => (await import('./status.ts')).statusCommand,
    mcp: async () => (await import('./mcp.ts')).mcpCommand,
  },
  'Commands that call the API, or work on the database for the operator:': {
    domains: async () => (await import('./domains.ts')).domainsCommand,
    receipt: async () => (await import('./receipt.ts')).receiptCommand,
  },
  'Commands that work on the database, for the operator:': {
    accounts: async () => (await import('./accounts.ts')).accountsCommand,
    keys: async () => (await import('./keys.ts')).keysCommand,
    people: async () => (await import('./people.ts')).peopleCommand,
    cell: async () => (await import('./cell.ts')).cellCommand,
    shaping: async () => (await import('./shaping.ts')).shapingCommand,
    secrets: async () => (await import('./secrets.ts')).secretsCommand,
    archive: async () => (await import('./archive.ts')).archiveCommand,
    erase: async () => (await import('./erase.ts')).eraseCommand,
    export: async () => (await import('./export.ts')).exportCommand,
    doctor: async () => (await import('./doctor.ts')).doctorCommand,
    upgrade: async () => (await import('./upgrade.ts')).upgradeCommand,
  },
  'Other commands:': {
    explain: async () => (await import('./explain.ts')).explainCommand,
    completion: async () => (await import('./completion.ts')).completionCommand,
  },
}

const AFTER_HELP = `
Environment:
  VERDICT_URL, VERDICT_API_KEY   the service to call, and the API key to call it with
  DATABASE_URL, ENCRYPTION_KEYS  the database, and the keys that its secrets are sealed with

By default, every command uses the instance started by npm start in this folder.
domains calls the API when VERDICT_URL, VERDICT_API_KEY or --url is given. receipt
calls the API; receipt verify needs only a key set; receipt rotate-key works on the
database.

Exit codes:
${Object.values(EXIT)
  .map(({ code, means }) => `  ${String(code).padEnd(2)}  ${means}`)
  .join('\n')}`

/** Runs the command that the arguments name. Throws a CliError with a message for the user. */
export async function runCli(args: string[]): Promise<Output> {
  beginCommand(args)
  let output: Output | undefined
  const print: Print = (printed) => {
    output = printed
  }
  const help: string[] = []
  const program = createProgram((text) => help.push(text))
  try {
    // Also handles --version, before any command is loaded.
    const { operands } = program.parseOptions(args)
    await addCommands(program, print, operands[0])
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw notUnderstood(error)
    output = outputOf(error, help.join('').trimEnd())
  }
  return output!
}

const { version } = packageJson

function createProgram(writeHelp: (text: string) => void): CommandUnknownOpts {
  const program = new Command('verdict')
    .description('Send transactional email, and manage the service that sends it.')
    .usage('<command> [options]')
    .version(version, '-V, --version', 'Print the version')
    .option('--json', 'Print JSON')
    .helpOption('-h, --help', 'Print help with options and examples')
    .commandsGroup('Other commands:')
    .helpCommand('help [command]', 'Print the help of a command')
    .addHelpText('after', AFTER_HELP)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: writeHelp, writeErr: writeHelp, outputError: () => {} })
    .hook('preAction', (_, command) => refuseSlips(command))
  return setUp(program)
}

/** Refuses what commander accepts: an empty argument, such as a script's unset variable, and an option for a value. */
function refuseSlips(command: CommandUnknownOpts): void {
  if (command.args.includes('')) command.error('error: an argument is empty')
  const values = Object.values(command.opts()).flat()
  const option = command.options.find(({ long }) => values.includes(long))
  if (option) command.error(`error: the value before ${option.long} is missing`)
}

/** Adds the command of that name. The help, a completion and the suggestion for a wrong name need all of them. */
async function addCommands(program: CommandUnknownOpts, print: Print, name: string | undefined): Promise<void> {
  const all = Object.entries(COMMANDS).flatMap(([heading, loaders]) =>
    Object.entries(loaders).map(([name, load]) => ({ name, heading, load })),
  )
  const named = name === 'completion' ? all : all.filter((command) => command.name === name)
  for (const { heading, load } of named.length > 0 ? named : all) {
    program.addCommand((await load())(print).helpGroup(heading))
  }
  program.command('version', { hidden: true }).action(() => print({ json: { version }, text: version }))
  setUp(program)
}

/** Lets subcommands use the settings of their parents, and report errors as ours. */
function setUp(command: CommandUnknownOpts): CommandUnknownOpts {
  for (const subcommand of command.commands) setUp(subcommand.copyInheritedSettings(command).helpCommand(false))
  refuseMissingOptions(command)
  return command.exitOverride((error) => {
    throw isHelpOrVersion(error) ? error : misunderstood(command, error)
  })
}

const isHelpOrVersion = ({ code }: CommanderError) => /^commander\.(help|helpDisplayed|version)$/.test(code)

function outputOf({ code, exitCode, message }: CommanderError, help: string): Output {
  if (code === 'commander.version') return { json: { version: message }, text: message }
  // A group without a subcommand.
  if (exitCode !== 0) throw new CliError('usage', help)
  return { json: { help }, text: help }
}

function misunderstood(command: CommandUnknownOpts, error: CommanderError): CliError {
  const path = pathOf(command)
  const message = harmless(error.message.replace(/^error: /, ''))
  const isLikeNone = error.code === 'commander.unknownCommand' && !message.includes('\n') && command.parent
  const names = command.commands.map((one) => one.name()).filter((name) => !DESTROYING.includes(name))
  const known = isLikeNone && names.length > 0 ? `\n(Known: ${names.join(', ')})` : ''
  return new CliError('usage', `${path}: ${message}${known}\nSee: ${path} --help`)
}

/** Commands that destroy something. They are never suggested: the caller may have meant another command. */
export const DESTROYING = ['delete', 'erase', 'lift', 'remove', 'revoke', 'rotate', 'rotate-key', 'undo']

/** The message without suggestions to destroy anything. */
function harmless(message: string): string {
  return message.replace(/\n\(Did you mean (?:one of )?(.+)\?\)/, (_, names: string) => {
    const kept = names.split(', ').filter((name) => !DESTROYING.includes(name))
    return kept.length === 0 ? '' : `\n(Did you mean ${kept.length > 1 ? 'one of ' : ''}${kept.join(', ')}?)`
  })
}

/**
 * Names all missing options at once, as soon as every other part of the command line is right. Commander looks for the
 * first of them before it looks at unknown options, and reads nothing behind an unknown option.
 */
function refuseMissingOptions(command: CommandUnknownOpts): void {
  const mandatory = command.options.filter((option) => option.mandatory)
  for (const option of mandatory) option.makeOptionMandatory(false)
  command.hook('preAction', () => {
    const missing = mandatory.filter((option) => command.getOptionValue(option.attributeName()) === undefined)
    if (missing.length === 0) return
    command.error(`error: missing required options: ${missing.map(({ long }) => long).join(', ')}`)
  })
}

/** `verdict keys list`. */
function pathOf(command: CommandUnknownOpts): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}
