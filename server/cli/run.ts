import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import * as accounts from './accounts.ts'
import { type Answer, type Command, Failure } from './command.ts'
import { doctor } from './doctor.ts'
import * as domains from './domains.ts'
import { send } from './emails.ts'
import { events, replay } from './events.ts'
import { helpOf, listOf, overview, shownWord } from './help.ts'
import { importList } from './import.ts'
import * as keys from './keys.ts'
import { nearest } from './nearest.ts'
import * as secrets from './secrets.ts'
import { status } from './status.ts'
import * as suppression from './suppression.ts'
import * as webhook from './webhook.ts'

const COMMANDS: Record<string, Command> = {
  'accounts create': accounts.create,
  'accounts list': accounts.list,
  'accounts tier': accounts.tier,
  'keys create': keys.create,
  'keys list': keys.list,
  'keys revoke': keys.revoke,
  'domains add': domains.add,
  'domains list': domains.list,
  'domains show': domains.show,
  'domains verify': domains.verify,
  'domains rotate': domains.rotate,
  'domains remove': domains.remove,
  send,
  events,
  replay,
  'webhook get': webhook.get,
  'webhook set': webhook.set,
  'webhook test': webhook.test,
  'webhook rotate': webhook.rotate,
  'webhook delete': webhook.remove,
  import: importList,
  'suppression list': suppression.list,
  'suppression add': suppression.add,
  'suppression remove': suppression.remove,
  'secrets rotate': secrets.rotate,
  status,
  doctor,
}

const EVERYWHERE = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const

/** Runs the command that the words of the command line name. Throws Failure for what a person has to know. */
export async function run(argv: string[]): Promise<Answer> {
  const name = Object.keys(COMMANDS).find((name) => name.split(' ').every((word, i) => argv[i] === word))
  if (!name) return noCommand(argv)
  const command = COMMANDS[name]!
  const { values, positionals } = parse(argv, name, command)
  if (values.help) return answerOf(helpOf(name, command))
  const missing = Object.keys(command.options).filter(
    (option) => command.options[option]!.required && !(option in values),
  )
  const words = command.words ?? []
  const needed = words.filter((word) => !word.endsWith('?'))
  if (missing.length > 0) throw misunderstood(name, `It needs ${missing.map((option) => `--${option}`).join(', ')}.`)
  if (positionals.length < needed.length || positionals.length > words.length || positionals.includes('')) {
    throw misunderstood(name, words.length > 0 ? `It takes: ${words.map(shownWord).join(' ')}` : 'It takes no words.')
  }
  return command.run(values as never, positionals)
}

function parse(argv: string[], name: string, command: Command) {
  const options: ParseArgsOptionsConfig = { ...command.options, ...EVERYWHERE }
  try {
    return parseArgs({ args: argv.slice(name.split(' ').length), options, allowPositionals: true })
  } catch (error) {
    // What follows the fault is about words that begin with a hyphen, which no command takes.
    throw misunderstood(name, (error as Error).message.split('. To specify')[0]!)
  }
}

/** Asked for help or the version, or for nothing that is known. */
function noCommand(argv: string[]): Answer {
  if (['--version', '-V', 'version'].includes(argv[0]!)) {
    const { version } = packageJson
    return { json: { version }, text: version }
  }
  const words = argv.filter((word) => !word.startsWith('-'))
  const [first, second] = words[0] === 'help' ? words.slice(1) : words
  const group = Object.fromEntries(Object.entries(COMMANDS).filter(([name]) => name.split(' ')[0] === first))
  const isGroup = Object.keys(group).length > 0
  if (argv.includes('--help') || argv.includes('-h') || words[0] === 'help') {
    return answerOf(overview(isGroup ? group : COMMANDS))
  }
  if (!first) throw new Failure('usage', overview(COMMANDS))
  if (isGroup && !second) throw new Failure('usage', `verdict ${first} needs one of:\n\n${listOf(group)}`)
  const asked = isGroup ? `${first} ${second}` : first
  const meant = nearest([first, second ?? ''].join(' ').trim(), Object.keys(isGroup ? group : COMMANDS))
  throw new Failure(
    'usage',
    `There is no command ${asked}. Did you mean: verdict ${meant}?\nAll commands: verdict --help`,
  )
}

function answerOf(help: string): Answer {
  return { json: { help }, text: help }
}

function misunderstood(name: string, why: string): Failure {
  return new Failure('usage', `verdict ${name}: ${why}\nSee: verdict ${name} --help`)
}
