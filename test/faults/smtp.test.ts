import { expect, test } from 'vitest'
import { a, mx } from '../harness/dns.ts'
import type { Act, Script, Verb } from '../harness/smtp-script.ts'
import { untilEnd } from '../harness/until-end.ts'
import { pauseFor } from '../harness/waits.ts'
import type { ClientEntry } from '../reliability/logs.ts'
import { startMailServer } from './mail-servers.ts'
import { startFaultWorld, type World } from './world.ts'

let world: World

const REPLIES = {
  greeting: '220 mx.test ESMTP',
  ehlo: '250-mx.test\r\n250 PIPELINING',
  mail: '250 2.1.0 ok',
  rcpt: '250 2.1.5 ok',
  data: '354 go ahead',
  dot: '250 2.0.0 queued',
} satisfies Script
const VERBS = Object.keys(REPLIES) as (keyof typeof REPLIES)[]

/** What a server does at a verb, and the outcome when that is before the dot and at the dot. */
const FAULTS: Record<string, { act: (verb: keyof typeof REPLIES) => Act; before: string; atDot: string }> = {
  silent: { act: () => 'stall', before: 'connection_timeout', atDot: 'in_doubt' },
  late: { act: (verb) => ({ after: 1_500, act: REPLIES[verb] }), before: 'delivered', atDot: 'delivered' },
  slow: { act: (verb) => ({ drip: `${REPLIES[verb]}\r\n`, everyMs: 60 }), before: 'delivered', atDot: 'delivered' },
  reset: { act: () => 'reset', before: 'connection_timeout', atDot: 'in_doubt' },
  closing: { act: () => '421 4.3.2 closing', before: 'temporary_failure', atDot: 'temporary_failure' },
  garbage: { act: () => ({ raw: 'hello?\r\n' }), before: 'temporary_failure', atDot: 'in_doubt' },
  endless: { act: () => ({ raw: `250 ${'x'.repeat(1_000_000)}\r\n` }), before: 'temporary_failure', atDot: 'in_doubt' },
}

const CASES = VERBS.flatMap((verb) =>
  Object.entries(FAULTS).map(([fault, { act, before, atDot }]) => ({
    domain: `${fault}-${verb}.example`,
    script: { [verb satisfies Verb]: act(verb) },
    expected: verb === 'dot' ? atDot : before,
  })),
)

/** While none of them greets, servers that are silent together say that our own way is broken. */
const WELL = Array.from({ length: 35 }, (_, i) => `well-${i}.example`)

/** `delivered`, `in_doubt`, the reason of a bounce, the HTTP status of an error, or how the connection ended. */
function outcomeOf({ status, body, lost }: ClientEntry): string {
  const { status: state, reason, in_doubt } = (body ?? {}) as { status?: string; reason?: string; in_doubt?: boolean }
  if (status !== 200) return String(status ?? lost)
  return in_doubt ? 'in_doubt' : (reason ?? state!)
}

test('each fault of a mail server at each verb has its own outcome in time, also when all happen at once', async () => {
  const scripts = Object.fromEntries(CASES.map(({ domain, script }) => [domain, script]))
  const well = Object.fromEntries(WELL.map((domain) => [domain, {}]))
  world = untilEnd(await startFaultWorld({ mail: { 'first.example': {}, ...well, ...scripts } }))
  const node = await world.start()
  // A process that has just started loads modules and opens connections first.
  await node.client.send({ request: 'first', to: ['ann@first.example'], text: 'All is well.' })
  const sends = CASES.flatMap(({ domain, expected }) =>
    [1, 2, 3].map(async (i) => {
      const entry = await node.client.send({
        request: `${domain}-${i}`,
        to: [`ann.${i}@${domain}`, `bob.${i}@${domain}`],
        text: 'All is well.',
      })
      return { of: domain, expected, outcome: outcomeOf(entry), tookMs: entry.endedAtMs! - entry.sentAtMs }
    }),
  )
  const all = Promise.all(sends)
  for (const domain of WELL) {
    await node.client.send({ request: domain, to: [`ann@${domain}`], text: 'All is well.' })
    await Promise.race([pauseFor(1_000), all])
  }
  const results = await all
  expect(results.filter(({ expected, outcome }) => outcome !== expected)).toEqual([])
  // The budget of a send is 30 s.
  expect(Math.max(...results.map(({ tookMs }) => tookMs))).toBeLessThan(35_000)
  expect(await world.verdict()).toEqual([])
})

test('the second mail server of a domain gets its mail when the first one is down', async () => {
  world = untilEnd(await startFaultWorld())
  const second = await startMailServer(world.logs.mail, {}, '127.0.0.3')
  Object.assign(world.dns.zone, {
    'MX failover.net': [mx('failover.net', 10, 'mx1.failover.net'), mx('failover.net', 20, 'mx2.failover.net')],
    'A mx1.failover.net': [a('mx1.failover.net', '127.0.0.2')],
    'A mx2.failover.net': [a('mx2.failover.net', '127.0.0.3')],
    'AAAA mx1.failover.net': 'nodata',
    'AAAA mx2.failover.net': 'nodata',
  })
  const node = await world.start({ SMTP_PORT: String(second.port), SMTP_ALLOW_SUBNETS: '127.0.0.0/8' })
  const sends = Array.from({ length: 30 }, (_, i) =>
    node.client.send({ request: `failover-${i}`, to: [`ann.${i}@failover.net`], text: 'All is well.' }),
  )
  const entries = await Promise.all(sends)
  expect(entries.map(outcomeOf)).toEqual(entries.map(() => 'delivered'))
  expect(entries[0]!.body).toMatchObject({ smtp: { mx: 'mx2.failover.net' } })
  expect(await world.verdict()).toEqual([])
  await second.close()
})
