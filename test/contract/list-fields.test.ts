import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DescFile } from '@bufbuild/protobuf'
import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { expect, test } from 'vitest'
import { domainsCommand } from '../../cli/domains.ts'
import { emailsCommand } from '../../cli/email-list.ts'
import { eventsCommand } from '../../cli/events.ts'
import { refusedSendsCommand } from '../../cli/refused-sends.ts'
import { suppressionCommand } from '../../cli/suppression.ts'
import { webhookCommand } from '../../cli/webhook.ts'

// Every field of a list of the public contract is an option of the command that prints the list. The lists of the
// dashboard alone are not here: their calls need a session, which the command line does not have.

const print = () => {}
const subcommand = (command: CommandUnknownOpts, name: string) =>
  command.commands.find((inner) => inner.name() === name)!

interface Covered {
  command: CommandUnknownOpts
  /** Why a field has no option. */
  without?: Record<string, string>
}

const COMMANDS: Record<string, Covered> = {
  ListDomainsRequest: { command: subcommand(domainsCommand(print), 'list') },
  ListEmailsRequest: { command: emailsCommand(print) },
  ListRefusedSendsRequest: { command: refusedSendsCommand(print) },
  ListEventsRequest: { command: eventsCommand(print) },
  ListChangesRequest: {
    // With --follow.
    command: eventsCommand(print),
    without: {
      wait_s: 'the command chooses how long each of its calls waits for new events',
      limit: 'the command prints all events, and chooses how many each of its calls gets',
    },
  },
  ListEndpointsRequest: { command: subcommand(webhookCommand(print), 'list') },
  SuppressionServiceListRequest: { command: subcommand(suppressionCommand(print), 'list') },
}

/** Options with another name than their field. */
const OPTIONS: Record<string, string> = { tenant_id: 'tenant', message_id: 'message' }

const modules: Record<string, DescFile>[] = await Promise.all(
  globSync('gen/verdict/v1/*_pb.ts').map((file) => import(resolve(file))),
)
const REQUESTS = modules
  .flatMap((module) => Object.entries(module).find(([name]) => name.startsWith('file_'))![1].messages)
  .filter(({ name }) => /^List\w*Request$|ListRequest$/.test(name))

test('every list of the public contract has a command', () => {
  expect(REQUESTS.map(({ name }) => name).sort()).toEqual(Object.keys(COMMANDS).sort())
})

test.each(REQUESTS)('every field of $name is an option of the command line, or has a reason', ({ name, fields }) => {
  const { command, without = {} } = COMMANDS[name]!
  const options = command.options.map(({ long }) => long)
  const names = fields.map((field) => field.name)
  const withOption = names.filter((name) => options.includes(`--${(OPTIONS[name] ?? name).replaceAll('_', '-')}`))
  expect(names.filter((name) => !withOption.includes(name) && without[name] === undefined)).toEqual([])
  expect(Object.keys(without).filter((name) => !names.includes(name))).toEqual([])
})

test('a filter that is either true or false has an option for each', () => {
  const both = REQUESTS.filter(({ fields }) => fields.some(({ name }) => name === 'sandbox'))
  const options = both.map(({ name }) => COMMANDS[name]!.command.options.map(({ long }) => long))
  expect(options.filter((all) => !all.includes('--live'))).toEqual([])
})
