import { command } from './command.ts'
import { callApi, urlOption } from './service.ts'

const PATH = '/api/v1/webhook'

// What the service answers, as far as it is printed for people.

interface Webhook {
  url: string
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

interface Tested {
  outcome: string
  status_code?: number
  duration_ms: number
  response_excerpt?: string
}

/** What happened, by the outcome of the attempt. */
const OUTCOMES: Record<string, (status?: number) => string> = {
  acked: () => 'The endpoint has the test event: it answered 200.',
  not_200: (status) => `The endpoint answered ${status}. Only 200 acknowledges an event.`,
  success_but_not_200: (status) => `The endpoint answered ${status}. Only 200 acknowledges an event.`,
  dns: () => "The name of the endpoint's host was not found in DNS.",
  blocked: () => 'The URL or its address may not be called, such as one that is not public.',
  tls: () => 'TLS failed: no common version, or a certificate that is not valid for the host.',
  connect: () => 'The endpoint could not be connected to, or closed the connection before it answered.',
  timeout_head: () => 'The endpoint did not begin its response in time.',
  timeout_body: (status) => `The endpoint answered ${status}, and did not end its response in time.`,
}

const KEEP = 'Keep it: it is not shown again.'

export const get = command({
  summary: 'Show where events are pushed, and how the endpoint does.',
  options: { url: urlOption },
  examples: ['verdict webhook get'],
  async run({ url }) {
    const webhook = (await callApi({ url, path: PATH })) as unknown as Webhook
    return { json: webhook, text: describe(webhook) }
  },
})

export const set = command({
  summary: 'Set where events are pushed. The first time, it prints the secret that they are signed with.',
  words: ['endpoint_url'],
  options: { url: urlOption },
  examples: ['verdict webhook set https://hooks.example.com/email'],
  async run({ url }, [endpoint]) {
    const webhook = await callApi({ url, path: PATH, method: 'PUT', body: { url: endpoint } })
    const secret = webhook.secret ? `\nIts secret is ${webhook.secret}\n${KEEP}` : ''
    return { json: webhook, text: `Events are pushed to ${webhook.url}${secret}` }
  },
})

export const test = command({
  summary: 'Push a signed test event to the endpoint, and tell how it went.',
  options: { url: urlOption },
  examples: ['verdict webhook test'],
  async run({ url }) {
    const tested = (await callApi({ url, path: `${PATH}/test`, method: 'POST' })) as unknown as Tested
    const { outcome, status_code, duration_ms, response_excerpt } = tested
    const what = OUTCOMES[outcome]?.(status_code) ?? `The attempt failed: ${outcome}.`
    const said = response_excerpt ? `\n  Its response begins ${JSON.stringify(response_excerpt.slice(0, 200))}` : ''
    const text = `${what} (${outcome}, ${duration_ms} ms)${said}`
    return { json: tested, text, exit: outcome === 'acked' ? 'ok' : 'failed' }
  },
})

export const rotate = command({
  summary: 'Give the endpoint a new secret and print it. The old one stays valid for 24 hours.',
  options: { url: urlOption },
  examples: ['verdict webhook rotate'],
  async run({ url }) {
    const webhook = await callApi({ url, path: `${PATH}/secret/rotate`, method: 'POST' })
    const text = `The new secret is ${webhook.secret}\n${KEEP} The old one stays valid until ${webhook.previous_secret_until}.`
    return { json: webhook, text }
  },
})

export const remove = command({
  summary: 'Delete the endpoint and its secret, and cancel what waits.',
  options: { url: urlOption },
  examples: ['verdict webhook delete'],
  async run({ url }) {
    return { json: await callApi({ url, path: PATH, method: 'DELETE' }), text: 'Events are pushed nowhere any more.' }
  },
})

function describe({ url, previous_secret_until, health }: Webhook): string {
  const { acknowledged, failed, consecutive_failures, last_success_at, last_failure_at } = health
  const lines = [
    `${acknowledged} attempts acknowledged and ${failed} failed in 24 hours`,
    consecutive_failures > 0 && `${consecutive_failures} failed since the last success (${last_success_at ?? 'never'})`,
    last_failure_at && `last failure at ${last_failure_at}`,
    health.waiting > 0 && `${health.waiting} dispatches wait, the oldest since ${health.oldest_waiting_at}`,
    previous_secret_until && `also signed with the previous secret until ${previous_secret_until}`,
  ]
  return [url, ...lines.filter(Boolean).map((line) => `  ${line}`)].join('\n')
}
