import { expect, test } from 'vitest'
import type { TimedPhase } from '../../../mail/smtp/attempt.ts'
import { CERTIFICATE } from '../../harness/certificates.ts'
import { engineWith, exchangerWith, send, siteOf } from './deliver.ts'

// Each phase of a conversation is reported at its end, with its host and its times.

interface Reported {
  phase: TimedPhase
  host: string
  fromMs: number
  toMs: number
}

async function reportedBy(servers: Parameters<typeof exchangerWith>[]) {
  const exchangers = await Promise.all(servers.map((server) => exchangerWith(...server)))
  const reported: Reported[] = []
  const startedAtMs = performance.now()
  const attempt = await send(engineWith(), siteOf(...exchangers), {
    startedAtMs,
    onPhase: (phase, host, fromMs, toMs) => reported.push({ phase, host, fromMs, toMs }),
  })
  return { attempt, reported, startedAtMs, endedAtMs: performance.now() }
}
const TLS = '250-mx.test\r\n250-PIPELINING\r\n250 STARTTLS'

test.each<[string, Parameters<typeof exchangerWith>, TimedPhase[]]>([
  ['in clear text', [{}], ['connect', 'greeting', 'ehlo', 'mail', 'rcpt', 'data', 'dot']],
  [
    'with TLS',
    [{ ehlo: TLS }, CERTIFICATE],
    ['connect', 'greeting', 'ehlo', 'starttls', 'ehlo', 'mail', 'rcpt', 'data', 'dot'],
  ],
  ['without a dot', [{ rcpt: '550 5.1.1 no such user' }], ['connect', 'greeting', 'ehlo', 'mail', 'rcpt', 'data']],
])('a conversation %s is reported phase by phase, one after the other', async (_, server, phases) => {
  const { attempt, reported, startedAtMs, endedAtMs } = await reportedBy([server])
  expect(reported.map(({ phase }) => phase).filter((phase, i, all) => phase !== all[i - 1])).toEqual(phases)
  expect(new Set(reported.map(({ host }) => host))).toEqual(new Set(['mx1.example.test']))
  let beforeMs = startedAtMs
  for (const { fromMs, toMs } of reported) {
    expect(fromMs).toBeGreaterThanOrEqual(beforeMs)
    expect(toMs).toBeGreaterThanOrEqual(fromMs)
    beforeMs = toMs
  }
  expect(beforeMs).toBeLessThanOrEqual(endedAtMs)
  // What is reported is what the evidence says.
  for (const [phase, ms] of Object.entries(attempt.timings) as [TimedPhase | 'own', number][]) {
    if (phase === 'own') continue
    const sum = reported.reduce((sum, each) => sum + (each.phase === phase ? each.toMs - each.fromMs : 0), 0)
    expect(sum).toBeCloseTo(ms, 6)
  }
})

test('each host has its own phases', async () => {
  const { reported } = await reportedBy([[{ greeting: '421 4.3.2 shutting down' }], [{}]])
  const phasesOf = (name: string) => new Set(reported.filter(({ host }) => host === name).map(({ phase }) => phase))
  expect(phasesOf('mx1.example.test').has('dot')).toBe(false)
  expect(phasesOf('mx2.example.test').has('dot')).toBe(true)
})
