import { beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../dev/ports.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { connectClient, type SmtpClient } from '../../smtp-front/client.ts'
import type { Node } from '../node.ts'
import { CLAIM, endOf, MARKER, messageOf, RECORD } from '../points.ts'
import { startFaultWorld, type World } from '../world.ts'

// A program sends by SMTP, and the process is killed before the program has its reply. The program sends the same
// message again, to another process.

let world: World
/** The process that is killed next. It answers the repeat of the message before. */
let current: Awaited<ReturnType<typeof startWithFront>>
beforeAll(async () => {
  world = untilEnd(await startFaultWorld())
  current = await startWithFront()
})

async function startWithFront(): Promise<{ node: Node; client: SmtpClient }> {
  const port = await freePort()
  const node = await world.start({ SMTP_FRONT_PORT: String(port) })
  const client = await connectClient(port)
  expect(await client.logIn(world.account.key)).toMatch(/^235/)
  return { node, client }
}

const mailOf = (request: string, to: string[]) => ({
  from: 'hello@example.test',
  to,
  content: [
    ...['From: hello@example.test', `Subject: ${request}`, `Message-ID: <${request}@example.test>`, '', 'Hi', ''],
  ].join('\r\n'),
})
const dotsOf = (request: string) => world.logs.mail.dots.filter((dot) => dot.request === request)

const SENT = /^250 2\.0\.0 msg_\w+: queued$/
const IN_DOUBT = /^550 5\.4\.7 msg_\w+: the reply to the final dot was lost/

test.each([
  ['after the claim', 'claim', { is: endOf(CLAIM) }, 0, SENT],
  ['after the marker, before the dot', 'marker', { is: endOf(MARKER) }, 1, IN_DOUBT],
  ['after the dot, before 250', 'dot', { is: messageOf('mail', 'up', /(^|\r\n)\.\r\n$/) }, 1, IN_DOUBT],
  ['after 250, before the record', 'reply', { is: messageOf('mail', 'down', /^250 2\.0\.0 queued/m) }, 1, IN_DOUBT],
  ['after the record, before the reply', 'record', { is: endOf(RECORD) }, 1, SENT],
] as const)('killed %s: a repeat gets the first answer or an honest one, and no second mail', async (...row) => {
  const [, request, point, mostDots, answer] = row
  const mail = mailOf(request, [`ann.${request}@one.example`])
  const first = current
  let isDead = false
  first.node.wire.onEvent = (event) => {
    if (isDead || !point.is(event)) return undefined
    isDead = true
    first.node.kill()
    return undefined
  }
  const next = startWithFront()
  expect(await first.client.send(mail)).toBe('closed')
  expect(isDead).toBe(true)
  await first.node.cleanUp()
  expect(dotsOf(request).length).toBeLessThanOrEqual(mostDots)

  current = await next
  const reply = await current.client.send(mail)
  expect(reply.replaceAll(/\r\n\d{3} \d\.\d\.\d/g, '')).toMatch(answer)
  expect(await current.client.send(mail)).toBe(reply)
  expect(dotsOf(request).length).toBeLessThanOrEqual(1)
  if (answer === SENT) expect(dotsOf(request)).toMatchObject([{ reply: 250 }])
})

test('each message has ended, with one event', async () => {
  await world.snapshot()
  const { messages, events, open } = world.logs.database.at(-1)!
  expect([messages.length, open]).toEqual([5, []])
  expect(events.map(({ message }) => message).toSorted()).toEqual(messages.map(({ id }) => id).toSorted())
})
