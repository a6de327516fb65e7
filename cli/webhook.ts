import { Command, Option } from '@commander-js/extra-typings'
import { EVENT_KINDS } from '../server/db/event-kinds.ts'
import { STATUSES } from './choices.ts'
import { examples, type Print } from './command.ts'
import { callApi, urlOption } from './service.ts'

const PATH = '/api/v1/webhook'

// The fields of the service's response that are printed as text.

interface Webhook {
  url: string
  events: string[]
  statuses: string[]
  secret?: string
  previous_secret_until?: string
  health: {
    acknowledged: number
    failed: number
    consecutive_failures: number
    last_success_at?: string
    last_failure_at?: string
    waiting: number
    oldest_waiting_at?: string
  }
}

interface TestAttempt {
  outcome: string
  detail?: string
  duration_ms: number
  response_excerpt?: string
}

const KEEP = 'Store it: it is not shown again.'

export const webhook = (print: Print) =>
  new Command('webhook')
    .description('Manage the webhook endpoint: get, set, test, rotate, delete')
    .addCommand(get(print))
    .addCommand(set(print))
    .addCommand(test(print))
    .addCommand(rotate(print))
    .addCommand(remove(print))

const get = (print: Print) =>
  new Command('get')
    .description('Show the URL that events are sent to, which events are sent, and the health of the endpoint')
    .addOption(urlOption())
    .addHelpText('after', examples('verdict webhook get'))
    .action(async ({ url }) => {
      const webhook = (await callApi({ url, path: PATH })) as unknown as Webhook
      print({ json: webhook, text: describe(webhook) })
    })

const set = (print: Print) =>
  new Command('set')
    .summary('Set the URL that events are sent to')
    .description('Set the URL that events are sent to. The first time, it prints the secret that signs them.')
    .argument('<endpoint_url>')
    .addOption(new Option('--events <kind...>', 'The kinds of events to send').choices(EVENT_KINDS))
    .addOption(new Option('--statuses <status...>', 'Send only events with these statuses').choices(STATUSES))
    .addOption(urlOption())
    .addHelpText(
      'after',
      examples(
        'verdict webhook set https://hooks.example.com/email',
        'verdict webhook set https://hooks.example.com/email --events email.delivery email.feedback',
        'verdict webhook set https://hooks.example.com/email --statuses bounced rejected',
      ),
    )
    .action(async (endpoint, { url, ...lists }) => {
      const body = { url: endpoint, ...lists }
      const webhook = (await callApi({ url, path: PATH, method: 'PUT', body })) as unknown as Webhook
      const secret = webhook.secret ? `\nIts secret is ${webhook.secret}\n${KEEP}` : ''
      print({ json: webhook, text: `Events are sent to ${webhook.url}\n  ${listsOf(webhook)}${secret}` })
    })

const test = (print: Print) =>
  new Command('test')
    .description('Send a signed test event to the endpoint, and show its response')
    .addOption(urlOption())
    .addHelpText('after', examples('verdict webhook test'))
    .action(async ({ url }) => {
      const attempt = (await callApi({ url, path: `${PATH}/test`, method: 'POST' })) as unknown as TestAttempt
      const { outcome, detail, duration_ms, response_excerpt } = attempt
      const acked = 'The endpoint acknowledged the test event with 200.'
      const what = outcome === 'acked' ? acked : (detail ?? `The attempt failed: ${outcome}.`)
      const excerpt = response_excerpt
        ? `\n  Its response begins ${JSON.stringify(response_excerpt.slice(0, 200))}`
        : ''
      const text = `${what} (${outcome}, ${duration_ms} ms)${excerpt}`
      print({ json: attempt, text, exit: outcome === 'acked' ? 'ok' : 'failed' })
    })

const rotate = (print: Print) =>
  new Command('rotate')
    .summary('Give the endpoint a new secret and print it')
    .description('Give the endpoint a new secret and print it. The old one stays valid for 24 hours.')
    .addOption(urlOption())
    .addHelpText('after', examples('verdict webhook rotate'))
    .action(async ({ url }) => {
      const webhook = await callApi({ url, path: `${PATH}/secret/rotate`, method: 'POST' })
      const previous = `The old one stays valid until ${webhook.previous_secret_until}.`
      print({ json: webhook, text: `The new secret is ${webhook.secret}\n${KEEP} ${previous}` })
    })

const remove = (print: Print) =>
  new Command('delete')
    .description('Delete the endpoint and its secret, and cancel its pending dispatches')
    .addOption(urlOption())
    .addHelpText('after', examples('verdict webhook delete'))
    .action(async ({ url }) => {
      const response = await callApi({ url, path: PATH, method: 'DELETE' })
      print({ json: response, text: 'Deleted. Events are no longer sent to an endpoint.' })
    })

const listsOf = ({ events, statuses }: Webhook) => `${events.join(', ')}: ${statuses.join(', ')}`

function describe(webhook: Webhook): string {
  const { url, previous_secret_until, health } = webhook
  const { acknowledged, failed, consecutive_failures, last_success_at, last_failure_at } = health
  const lines = [
    listsOf(webhook),
    `${acknowledged} attempts acknowledged and ${failed} failed in 24 hours`,
    consecutive_failures > 0 && `${consecutive_failures} failed since the last success (${last_success_at ?? 'never'})`,
    last_failure_at && `last failure at ${last_failure_at}`,
    health.waiting > 0 && `${health.waiting} dispatches are waiting, the oldest since ${health.oldest_waiting_at}`,
    previous_secret_until && `also signed with the previous secret until ${previous_secret_until}`,
  ]
  return [url, ...lines.filter(Boolean).map((line) => `  ${line}`)].join('\n')
}
