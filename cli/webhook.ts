import { Command } from '@commander-js/extra-typings'
import { command, type Print } from './command.ts'
import { callApi, urlOption } from './service.ts'
import {
  describeEndpoint,
  eventsOption,
  filtersOf,
  KEEP_SECRET,
  statusesOption,
  type WebhookEndpoint,
} from './webhook-endpoint.ts'
import { addCommand, changeCommand, listCommand } from './webhooks.ts'

/** Without an id, the account's first endpoint. */
const pathOf = (endpointId?: string) =>
  endpointId === undefined ? '/api/v1/webhook' : `/api/v1/webhooks/${encodeURIComponent(endpointId)}`

// The fields of the service's response that are printed as text.

interface TestAttempt {
  outcome: string
  detail?: string
  duration_ms: number
  response_excerpt?: string
}

const ENDPOINT = 'whk_...; without it, the first endpoint'

export const webhookCommand = (print: Print) =>
  new Command('webhook')
    .description('Manage the webhook endpoints: list, add, change, get, set, test, rotate, delete')
    .addCommand(listCommand(print))
    .addCommand(addCommand(print))
    .addCommand(changeCommand(print))
    .addCommand(get(print))
    .addCommand(set(print))
    .addCommand(test(print))
    .addCommand(rotate(print))
    .addCommand(remove(print))

const get = (print: Print) =>
  command('get', 'verdict webhook get')
    .description('Show the URL that events are sent to, which events are sent, and the health of the endpoint')
    .argument('[endpoint_id]', ENDPOINT)
    .addOption(urlOption())
    .action(async (id, { url }) => {
      const endpoint = (await callApi({ url, path: pathOf(id) })) as unknown as WebhookEndpoint
      print({ json: endpoint, text: describeEndpoint(endpoint) })
    })

const set = (print: Print) =>
  command(
    'set',
    'verdict webhook set https://hooks.example.com/email',
    'verdict webhook set https://hooks.example.com/email --events email.delivery email.feedback',
    'verdict webhook set https://hooks.example.com/email --statuses bounced rejected',
  )
    .summary('Set the URL that events are sent to: the first endpoint')
    .description('Set the URL of the first endpoint. The first time, it prints the secret that signs the events.')
    .argument('<endpoint_url>')
    .addOption(eventsOption())
    .addOption(statusesOption())
    .addOption(urlOption())
    .action(async (endpointUrl, { url, ...lists }) => {
      const body = { url: endpointUrl, ...lists }
      const endpoint = (await callApi({ url, path: pathOf(), method: 'PUT', body })) as unknown as WebhookEndpoint
      const secret = endpoint.secret ? `\nIts secret is ${endpoint.secret}\n${KEEP_SECRET}` : ''
      print({ json: endpoint, text: `Events are sent to ${endpoint.url}\n  ${filtersOf(endpoint)}${secret}` })
    })

const test = (print: Print) =>
  command('test', 'verdict webhook test')
    .description('Send a signed test event to the endpoint, and show its response')
    .argument('[endpoint_id]', ENDPOINT)
    .addOption(urlOption())
    .action(async (id, { url }) => {
      const attempt = (await callApi({ url, path: `${pathOf(id)}/test`, method: 'POST' })) as unknown as TestAttempt
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
  command('rotate', 'verdict webhook rotate')
    .summary('Give the endpoint a new secret and print it')
    .description('Give the endpoint a new secret and print it. The old one stays valid for 24 hours.')
    .argument('[endpoint_id]', ENDPOINT)
    .addOption(urlOption())
    .action(async (id, { url }) => {
      const webhook = await callApi({ url, path: `${pathOf(id)}/secret/rotate`, method: 'POST' })
      const previous = `The old one stays valid until ${webhook.previous_secret_until}.`
      print({ json: webhook, text: `The new secret is ${webhook.secret}\n${KEEP_SECRET} ${previous}` })
    })

const remove = (print: Print) =>
  command('delete', 'verdict webhook delete')
    .description('Delete the endpoint and its secret, and cancel its pending dispatches')
    .argument('[endpoint_id]', ENDPOINT)
    .addOption(urlOption())
    .action(async (id, { url }) => {
      const response = await callApi({ url, path: pathOf(id), method: 'DELETE' })
      print({ json: response, text: 'Deleted. Events are no longer sent to this endpoint.' })
    })
