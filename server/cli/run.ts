import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import * as accounts from './accounts.ts'
import { type Answer, type Command, Failure } from './command.ts'
import { doctor } from './doctor.ts'
import * as domains from './domains.ts'
import { send } from './emails.ts'
import { events, replay } from './events.ts'
import { helpOf, overview, shownWord } from './help.ts'
import { importList } from './import.ts'
import * as keys from './keys.ts'
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

/** Asked for help, or for nothing that is known. */
function noCommand(argv: string[]): Answer {
  const [first] = argv.filter((word) => !word.startsWith('-'))
  const group = Object.fromEntries(Object.entries(COMMANDS).filter(([name]) => name.split(' ')[0] === first))
  const known = Object.keys(group).length > 0
  const text = overview(known ? group : COMMANDS)
  if (argv.includes('--help') || argv.includes('-h') || first === 'help') return answerOf(text)
  throw new Failure('usage', known || !first ? text : `There is no command ${first}.\n\n${text}`)
}

function answerOf(help: string): Answer {
  return { json: { help }, text: help }
}

function misunderstood(name: string, why: string): Failure {
  return new Failure('usage', `verdict ${name}: ${why}\nSee: verdict ${name} --help`)
}
