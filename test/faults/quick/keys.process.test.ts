import { expect, test } from 'vitest'
import { a, mx } from '../../harness/dns.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { bodiesOf, expectOneMailOrInDoubt, killTheWinner, sendDuplicates } from '../duplicates.ts'
import type { Letter } from '../letters.ts'
import { startMailServer } from '../mail-servers.ts'
import { startFaultWorld, type World } from '../world.ts'

let world: World

const letter = (key: string, to: string): Letter => ({ request: key, to: [to], text: 'All is well.', key })
const startTwo = () => Promise.all([world.start(), world.start()])
const dots = () => world.logs.mail.dots.length

test('200 concurrent requests with one key over two processes send one mail and get equal bodies', async () => {
  world = untilEnd(
    await startFaultWorld({ mail: { 'one.example': { dot: { after: 1_000, act: '250 2.0.0 queued' } } } }),
  )
  const entries = await sendDuplicates(await startTwo(), letter('crowd', 'ann@one.example'), 200)
  expect(entries.filter(({ status }) => status === 200)).toHaveLength(200)
  expect(bodiesOf(entries)).toHaveLength(1)
  expect(dots()).toBe(1)
  expect(await world.verdict()).toEqual([])
})

test('when the process that sends is killed, another one sends the mail if there is no marker, and otherwise all get in doubt', async () => {
  const outcome = await killTheWinner(30, true)
  world = outcome.world
  await expectOneMailOrInDoubt(outcome)
})

test('duplicates that fail with 500 on two processes leave the key free, and a later repeat sends', async () => {
  world = untilEnd(await startFaultWorld())
  const server = await startMailServer(world.logs.mail, {}, '127.0.0.3')
  world.dns.zone['MX silent.net'] = 'silence'
  const env = { SMTP_PORT: String(server.port), SMTP_ALLOW_SUBNETS: '127.0.0.0/8' }
  const nodes = await Promise.all([world.start(env), world.start(env)])
  const silentLetter = letter('silent', 'ann@silent.net')
  const failures = await sendDuplicates(nodes, silentLetter, 40)
  expect(failures.map(({ status }) => status)).toEqual(failures.map(() => 500))
  expect(await world.sql`select from idempotency_keys`).toHaveLength(0)
  Object.assign(world.dns.zone, {
    'MX silent.net': [mx('silent.net', 10, 'mx.silent.net')],
    'A mx.silent.net': [a('mx.silent.net', '127.0.0.3')],
    'AAAA mx.silent.net': 'nodata',
  })
  const entries = await sendDuplicates(nodes, silentLetter, 40)
  const [body, ...others] = bodiesOf(entries)
  expect([JSON.parse(body!).status, others]).toEqual(['delivered', []])
  expect(dots()).toBe(1)
  expect(await world.verdict()).toEqual([])
  await server.close()
})
