import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { startReceiver } from '../../harness/receiver.ts'
import { pauseFor } from '../../harness/waits.ts'
import { eventually } from '../daemon.ts'
import { startInstallation } from './installation.ts'

// `npm run screenshots:temporal`: the list, the timeline and the details of undelivered events in the Temporal UI of
// `npm start`, into docs/images/. The events are real, and so are their attempts. Signals make those that would come
// hours later.

const IMAGES = 'docs/images'
/** The pages of the UI never rest: they refresh themselves. */
const SETTLED_MS = 2_000
const WITHIN_MS = 60_000
const SIZE = { width: 1440, height: 900 }

await mkdir(IMAGES, { recursive: true })
const receiver = await startReceiver()
await using installation = await startInstallation()
const { ready, browser, send } = installation
const ui = ready.temporal_ui_url

// biome-ignore lint/suspicious/noExplicitAny: the responses of the API, of which this script reads a few fields
async function call(path: string, method = 'GET', body?: object): Promise<any> {
  const headers = { authorization: `Bearer ${ready.keys.live}`, 'content-type': 'application/json' }
  const response = await fetch(`${ready.url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })
  return response.json()
}

/** Signals a workflow as the Temporal UI does. */
async function signal(workflowId: string, name: string): Promise<void> {
  const cookie = (await fetch(ui)).headers.getSetCookie()[0]!.split(';')[0]!
  await fetch(`${ui}/api/v1/namespaces/default/workflows/${workflowId}/signal/${name}`, {
    method: 'POST',
    headers: { cookie, 'x-csrf-token': cookie.replace('_csrf=', ''), 'content-type': 'application/json' },
    body: '{}',
  })
}

/** Sends an email whose event is not acknowledged. Resolves to its event once a workflow waits for it. */
async function undelivered(to: string, status: number) {
  receiver.script = { status, body: 'down for maintenance' }
  const messageId = await send({ to })
  const { events } = await call(`/events?message_id=${messageId}`)
  return eventually(async () => {
    const event = await call(`/events/${events[0].event_id}`)
    return event.dispatches[0].workflow_url === undefined ? undefined : event
  }, WITHIN_MS)
}

const attempted = (eventId: string, attempts: number) =>
  eventually(async () => ((await call(`/events/${eventId}`)).attempts >= attempts ? true : undefined), WITHIN_MS)

await call('/webhook', 'PUT', { url: receiver.url })
const lost = await undelivered('delivered@simulator.test', 503)
for (let attempt = 2; attempt <= 6; attempt++) {
  await signal(lost.dispatches[0].workflow_id, 'retryNow')
  await attempted(lost.event_id, attempt)
}
const late = await undelivered('mailbox_full@simulator.test', 500)
receiver.script = {}
await signal(late.dispatches[0].workflow_id, 'retryNow')
await attempted(late.event_id, 2)
await call(`/events/${lost.event_id}/replay`, 'POST', {})
const waiting = await undelivered('spam_blocked@simulator.test', 503)
await signal(waiting.dispatches[0].workflow_id, 'retryNow')
await attempted(waiting.event_id, 2)

const { context } = await browser.context(ui, { viewport: SIZE })
const page = await context.newPage()
const workflows = `${ui}/namespaces/default/workflows`

async function picture(name: string, shown: string): Promise<void> {
  await page.getByText(shown).first().waitFor()
  await pauseFor(SETTLED_MS)
  await page.screenshot({ path: join(IMAGES, `${name}.png`) })
  console.log(`${page.url()} is in ${IMAGES}/${name}.png`)
}

await page.goto(workflows)
await picture('temporal-list', lost.dispatches[0].workflow_id)
await page.goto(`${workflows}/${waiting.dispatches[0].workflow_id}`)
await page.getByText('attempt 3 of 6').first().waitFor()
await page.getByRole('heading', { name: 'Timeline' }).scrollIntoViewIfNeeded()
await page.mouse.move(1_100, 620)
await page.mouse.wheel(0, 450)
await picture('temporal-timeline', 'attempt 3 of 6')
await page.mouse.wheel(0, -10_000)
await page.getByText('User Metadata').click()
// The UI shows Markdown in frames.
await eventually(async () => {
  const counts = await Promise.all(page.frames().map((frame) => frame.getByText('Not delivered yet').count()))
  return counts.find((count) => count > 0)
}, WITHIN_MS)
await picture('temporal-details', 'User Metadata')
await receiver.close()
