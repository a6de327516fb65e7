import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { followEvents } from '../../cli/follow-events.ts'
import { runCli } from '../../cli/run.ts'
import { parsePublicId } from '../../server/db/ids.ts'
import { createFeedback } from '../../server/inbound/feedback.ts'
import { startReceiver } from '../harness/receiver.ts'
import { untilEnd } from '../harness/until-end.ts'
import { within } from '../harness/waits.ts'
import { startApi } from '../services/api.ts'

// The commands against the whole API and a real receiver.

const api = await startApi()
const receiver = untilEnd(await startReceiver())
beforeEach(() => {
  vi.stubEnv('VERDICT_URL', api.url)
  vi.stubEnv('VERDICT_API_KEY', api.keys.live)
})
afterEach(() => void vi.unstubAllEnvs())

const textOf = async (...args: string[]) => (await runCli(args)).text
const missing = { exit: 'not_found', message: expect.stringContaining('has no webhook endpoint') }

test('an endpoint is set, its secret shown once, tested, rotated and deleted', async () => {
  await expect(runCli(['webhook', 'get'])).rejects.toMatchObject(missing)
  const set = await runCli(['webhook', 'set', receiver.url])
  expect(set.json).toMatchObject({ url: receiver.url, secret: expect.stringMatching(/^whsec_/) })
  const { secret } = set.json as { secret: string }
  const all = 'email.delivery: delivered, bounced, rejected'
  expect(set.text).toBe(
    `Events are sent to ${receiver.url}\n  ${all}\nIts secret is ${secret}\nStore it: it is not shown again.`,
  )
  expect(await textOf('webhook', 'set', receiver.url)).toBe(`Events are sent to ${receiver.url}\n  ${all}`)
  const lists = ['--events', 'email.delivery', 'email.feedback', '--statuses', 'bounced']
  const chosen = 'email.delivery, email.feedback: bounced'
  expect(await textOf('webhook', 'set', receiver.url, ...lists)).toBe(`Events are sent to ${receiver.url}\n  ${chosen}`)
  const { endpoint_id } = set.json as { endpoint_id: string }
  expect(await textOf('webhook', 'get')).toBe(
    `${receiver.url}\n  ${endpoint_id}\n  ${chosen}\n  0 attempts acknowledged and 0 failed in 24 hours`,
  )

  expect(await runCli(['webhook', 'test'])).toMatchObject({
    text: expect.stringMatching(/^The endpoint acknowledged the test event with 200\. \(acked, \d+ ms\)$/),
    exit: 'ok',
  })
  receiver.script = { status: 418, body: 'a "teapot"' }
  expect(await runCli(['webhook', 'test'])).toMatchObject({
    text: expect.stringMatching(
      /^The endpoint responded with 418\. Only 200 .* \(not_200, \d+ ms\)\n {2}Its response begins "a \\"teapot\\""$/,
    ),
    exit: 'failed',
  })
  receiver.script = {}

  const rotated = await textOf('webhook', 'rotate')
  expect(rotated).toMatch(/^The new secret is whsec_\S+\nStore it: .* The old one stays valid until \d{4}-\S+Z\.$/)
  expect(rotated).not.toContain(secret)
  expect(await textOf('webhook', 'get')).toMatch(/\n {2}also signed with the previous secret until /)
  expect(await textOf('webhook', 'delete')).toBe('Deleted. Events are no longer sent to this endpoint.')
  await expect(runCli(['webhook', 'delete'])).rejects.toMatchObject(missing)
})

test('the message about a refused URL is that of the service', async () => {
  await expect(runCli(['webhook', 'set', 'ftp://example.com'])).rejects.toMatchObject({
    exit: 'failed',
    message: expect.stringContaining('url must begin with https://'),
  })
  await expect(runCli(['webhook', 'set', receiver.url, '--events', 'email.opened'])).rejects.toMatchObject({
    exit: 'usage',
    message: expect.stringContaining('Allowed choices are email.delivery, email.feedback'),
  })
  await expect(runCli(['webhook', 'set'])).rejects.toMatchObject({ exit: 'usage' })
})

test('an event shows its dispatches and attempts, and is replayed by its id or with its message', async () => {
  await runCli(['webhook', 'set', receiver.url])
  const { message_id } = (await api.send()).json
  const { event_id } = (await api.call('GET', `/api/v1/events?message_id=${message_id}`)).json.events[0]
  const attempt = (shown: string, number: number) =>
    api.attemptOnce({ dispatchId: parsePublicId(shown.slice(0, 3) as 'dsp', shown)!, number, nextDelayMs: 60_000 })
  receiver.script = { status: 500, body: 'no\n' }
  await attempt(event_id, 1)
  receiver.script = {}
  const dispatch_id = event_id.replace('evt_', 'dsp_')
  const shown = await textOf('events', event_id)
  expect(shown.split('\n')).toEqual([
    `${event_id}: delivered@simulator.test delivered`,
    expect.stringMatching(new RegExp(`^ {2}\\S+Z, message ${message_id}$`)),
    expect.stringMatching(/^ {2}mx\S* replied 250 /),
    expect.stringMatching(
      new RegExp(`^ {2}${dispatch_id} \\(original, to whk_\\w+\\): waiting, next attempt at \\S+Z$`),
    ),
    expect.stringMatching(/^ {4}attempt 1 at \S+Z: not_200 \(HTTP 500\), \d+ ms: "no↵"$/),
    '      The endpoint responded with 500. Only 200 acknowledges an event.',
  ])
  expect(await textOf('events', event_id, '--requests')).toMatch(
    new RegExp(
      `\n {6}POST http://127\\.0\\.0\\.1:\\d+/\\S*\n {6}Content-Type: application/json\n(?:.*\n)*? {6}\\{"event".*${event_id}`,
    ),
  )
  expect(await textOf('events')).toMatch(/delivered@simulator\.test {2}no, 1 +msg_/)
  expect(await textOf('webhook', 'get')).toMatch(
    /0 attempts acknowledged and 1 failed.*\n {2}1 failed since .*never.*\n/,
  )

  const replayed = await runCli(['replay', event_id])
  expect(replayed.json).toMatchObject({ replayed: true, event_id, message_id })
  const { dispatch_id: replay } = replayed.json as { dispatch_id: string }
  expect(replayed.text).toMatch(new RegExp(`^${event_id}: ${replay} to whk_\\w+, accepted at \\S+Z$`))
  await attempt(replay, 1)
  expect(await textOf('events', event_id)).toMatch(
    new RegExp(`${replay} \\(replay, to whk_\\w+\\): acknowledged\n {4}attempt 1 .*acked.*\n {4}http://temporal.test/`),
  )
  expect(await textOf('events')).toMatch(/delivered@simulator\.test {2}yes, 2 +msg_/)
  expect((await runCli(['replay', message_id])).json).toMatchObject({ replayed: true, count: 1 })
})

test('an invalid id, or filters beside an id, are usage errors', async () => {
  for (const args of [
    ['replay', 'dsp_1'],
    ['replay'],
    ['events', 'evt_1', '--status', 'bounced'],
    ['events', 'evt_1', 'evt_2'],
    ['events', '--follow', '--limit', '5'],
    ['events', '--follow', '--from', '2026-01-31'],
    ['events', '--sandbox', '--live'],
    ['events', 'evt_1', '--follow'],
    ['events', '--after', 'begin'],
    ['events', '--requests'],
  ]) {
    await expect(runCli(args)).rejects.toMatchObject({ exit: 'usage' })
  }
  await expect(runCli(['events', 'evt_1'])).rejects.toMatchObject({ exit: 'not_found' })
})

test('events are found by tag and kind, and feedback shows what was reported', async () => {
  const { message_id } = (await api.send({ to: 'ann@example.net', tag: 'orders' })).json
  const keep = createFeedback({ db: api.world.db, clock: api.world.clock })
  const returnPath = { messageId: parsePublicId('msg', message_id)!, position: 0 }
  await keep(returnPath, { kind: 'complaint', type: 'abuse', addresses: ['ann@example.net'] })
  const { json, text } = await runCli(['events', '--tag', 'orders', '--event', 'email.feedback'])
  expect(json).toMatchObject({ events: [{ message_id, event: 'email.feedback' }] })
  expect(text).toMatch(/ delivered, complaint {2}- +ann@example\.net /)
  const [{ event_id }] = (json as { events: { event_id: string }[] }).events as [{ event_id: string }]
  const shown = await textOf('events', event_id)
  expect(shown).toContain(`${event_id}: ann@example.net delivered, complaint\n`)
  expect(shown).toContain(`, message ${message_id}, tag orders\n  the report says abuse`)
  await expect(runCli(['events', '--event', 'email.opened'])).rejects.toMatchObject({
    message: expect.stringContaining('Allowed choices are email.delivery, email.feedback'),
  })
})

test('events are found by tenant, by time and by whether the send was a dry run', async () => {
  const { message_id } = (await api.send({ to: 'cy@example.net', tenant_id: 'tenant_of_events' })).json
  const found = async (...filters: string[]) => {
    const { json } = await runCli(['events', '--message', message_id, ...filters])
    return (json as { events: unknown[] }).events.length
  }
  expect(await found('--tenant', 'tenant_of_events', '--live', '--from', '2020-01-31')).toBe(1)
  expect(await found('--tenant', 'another_tenant')).toBe(0)
  expect(await found('--sandbox')).toBe(0)
  expect(await found('--to', '2020-01-31')).toBe(0)
})

test('complaints are followed without the late bounces, from the oldest on', async () => {
  const { message_id } = (await api.send({ to: 'bob@example.net', tag: 'complained' })).json
  const keep = createFeedback({ db: api.world.db, clock: api.world.clock })
  const returnPath = { messageId: parsePublicId('msg', message_id)!, position: 0 }
  const address = { addresses: ['bob@example.net'] }
  const failure = {
    ...address,
    reason: 'mailbox_does_not_exist',
    enhanced: '5.1.1',
    detail: '550 no such user',
  } as const
  await keep(returnPath, { kind: 'bounce', failures: [failure] })
  await keep(returnPath, { kind: 'complaint', type: 'abuse', ...address })
  const { rest } = await runCli('events --follow --after begin --feedback complaint --tag complained'.split(' '))
  for await (const { json, text } of rest!) {
    expect(json).toMatchObject({ message_id, feedback: 'complaint' })
    expect(text).toContain('delivered, complaint')
    break
  }
})

test('events are followed as they are stored, each once, by their filters', async () => {
  const sent: string[] = []
  const send = async (tag: string) => {
    const { message_id } = (await api.send({ tag })).json
    if (tag === 'followed') sent.push(message_id)
  }
  await send('followed')
  const events = followEvents({ tag: 'followed' }, { url: undefined })
  const nextIds = async (count: number) => {
    const ids: string[] = []
    for (let i = 0; i < count; i++) ids.push(((await events.next()).value!.json as { message_id: string }).message_id)
    return ids
  }
  let firstId: string | undefined
  const first = nextIds(1).then(([id]) => {
    firstId = id
  })
  // The first may be any of these: the events that are there when the first poll ends are not new, except that one
  // committed just before may still be behind a transaction.
  while (firstId === undefined) {
    await send('followed')
    await within(100, first, undefined)
  }
  for (const tag of ['other', 'followed', 'followed']) await send(tag)
  const followed = sent.slice(sent.indexOf(firstId))
  expect([firstId, ...(await nextIds(followed.length - 1))]).toEqual(followed)
  const { rest, text } = await runCli(['events', '--follow'])
  expect(text).toBe('Following events. Press Ctrl+C to stop.')
  expect(rest).toBeDefined()
})

test('several endpoints are added, listed, changed and deleted by their ids', async () => {
  await runCli(['webhook', 'delete'])
  const note = ['--description', 'warehouse', '--tags', 'a', 'b', '--tenants', 't', '--domains', 'example.test']
  const added = await runCli(['webhook', 'add', `${receiver.url}/warehouse`, ...note, '--disabled'])
  const { endpoint_id, secret } = added.json as { endpoint_id: string; secret: string }
  expect(added.text).toContain(secret)
  expect(await textOf('webhook', 'list')).toBe(
    [
      `${receiver.url}/warehouse`,
      endpoint_id,
      'warehouse',
      'disabled: no new events are sent to it',
      'email.delivery: delivered, bounced, rejected; tags a, b; tenants t; domains example.test',
      '0 attempts acknowledged and 0 failed in 24 hours',
    ].join('\n  '),
  )
  const changed = await textOf('webhook', 'change', endpoint_id, '--all-tags', '--enable', '--description', '')
  expect(changed).not.toMatch(/ warehouse\n|disabled|tags/)
  expect(changed).toContain('tenants t')
  expect(await runCli(['webhook', 'test', endpoint_id])).toMatchObject({ exit: 'ok' })
  expect(await textOf('webhook', 'rotate', endpoint_id)).toContain('The new secret is whsec_')
  expect(await textOf('webhook', 'delete', endpoint_id)).toContain('Deleted.')
  expect(await textOf('webhook', 'list')).toBe('There is no endpoint. Add one: verdict webhook add <url>')
})
