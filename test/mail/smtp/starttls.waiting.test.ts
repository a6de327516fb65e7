import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { Site } from '../../../mail/smtp/attempt.ts'
import { createHostMemory } from '../../../mail/smtp/host-memory.ts'
import { demandTls } from '../../../mail/smtp/tls.ts'
import {
  AUTHORITY,
  CERTIFICATE,
  EXPIRED_CERTIFICATE,
  POLICY_AUTHORITY,
  RECEIVER_CERTIFICATE,
  SECOND_CERTIFICATE,
  WEAK_CERTIFICATE,
  WEAK_DH,
} from '../../harness/certificates.ts'
import { eventually } from '../../harness/eventually.ts'
import type { Exchanger } from '../../harness/exchanger.ts'
import type { Script } from '../../harness/smtp-script.ts'
import { outlast } from '../../harness/waits.ts'
import { closedPort, deliveryTo, engineWith, exchangerWith, hostOf, OFFER, outcomeOf, send, siteOf } from './deliver.ts'

beforeAll(() => setDefaultCACertificates([...getCACertificates('default'), AUTHORITY, POLICY_AUTHORITY]))

function offering(script: Script = {}, tls: object = CERTIFICATE) {
  return exchangerWith({ ehlo: OFFER, ...script }, tls)
}

function wordsOf({ sessions }: Exchanger): string[] {
  return sessions.map(({ commands }) => commands.map((line) => line.split(/[ :]/)[0]).join(' '))
}

test('STARTTLS is used where it is offered, and EHLO is sent again after it', async () => {
  const exchanger = await offering()
  const attempt = await send(engineWith(), siteOf(exchanger))
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, tls: { version: 'TLSv1.3', verified: true } })
  expect(wordsOf(exchanger)).toEqual(['EHLO STARTTLS EHLO MAIL RCPT DATA .'])
  expect(exchanger.messages[0]!.tls).toBe(true)
})

test('a send on a reused connection is still two round trips, and reports its TLS', async () => {
  const exchanger = await offering()
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  await send(engine, site)
  const { turns } = exchanger.sessions[0]!
  expect(await send(engine, site)).toMatchObject({ tls: { version: 'TLSv1.3', verified: true } })
  expect(exchanger.sessions[0]!.turns - turns).toBe(2)
})

test('the handshake asks for the name of the exchanger (SNI)', async () => {
  const names: (string | undefined)[] = []
  const SNICallback = (name: string, done: (error: null) => void) => {
    names.push(name)
    done(null)
  }
  await send(engineWith(), siteOf(await offering({}, { ...CERTIFICATE, SNICallback })))
  expect(names).toEqual(['mx1.example.test'])
})

test.each([
  ['of another name', CERTIFICATE, 'mx2.example.test'],
  ['that is weak and signed by itself', { ...WEAK_CERTIFICATE, ciphers: 'DEFAULT:@SECLEVEL=0' }, 'weak.example.test'],
  ['for an exchanger without a name', CERTIFICATE, '127.0.0.1'],
])('a certificate %s still encrypts, and is reported as not verified', async (_, tls, name) => {
  const exchanger = await offering({}, tls)
  const attempt = await send(engineWith(), { key: name, hosts: [hostOf(exchanger, name)] })
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, tls: { version: 'TLSv1.3', verified: false } })
})

test('a large message arrives whole over TLS', async () => {
  const exchanger = await offering()
  const content = [Buffer.from(`.${'x'.repeat(75)}\r\n`.repeat(30_000))]
  expect(outcomeOf(await send(engineWith(), siteOf(exchanger), { content, budgetMs: 20_000 }))).toBe('delivered')
  expect(exchanger.messages[0]!.content === content.toString()).toBe(true)
})

test('weak TLS is still better than none', async () => {
  const ciphers = 'DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0'
  const weak = { ...WEAK_CERTIFICATE, maxVersion: 'TLSv1.2' as const, ciphers, dhparam: WEAK_DH }
  expect(await send(engineWith(), siteOf(await offering({}, weak)))).toMatchObject({ tls: { version: 'TLSv1.2' } })
})

test('TLS 1.2 is used where there is no better', async () => {
  const exchanger = await offering({}, { ...CERTIFICATE, maxVersion: 'TLSv1.2' })
  expect(await send(engineWith(), siteOf(exchanger))).toMatchObject({ tls: { version: 'TLSv1.2', verified: true } })
})

test.each<[string, Script, object?]>([
  ['is refused with 454', { starttls: '454 4.7.0 not available' }],
  ['is refused with 502', { starttls: '502 5.5.1 what?' }],
  ['is answered by a close', { starttls: 'close' }],
  ['is answered by a reset', { starttls: 'reset' }],
  ['is not answered', { starttls: 'stall' }],
  [
    'has an older TLS behind it',
    {},
    { ...CERTIFICATE, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' },
  ],
  ['has no certificate behind it', {}, {}],
  ['has garbage behind it', { handshake: { after: 20, act: { raw: 'this is no handshake, is it? '.repeat(10) } } }],
  ['has a close behind it', { handshake: 'close' }],
  ['has a reset behind it', { handshake: 'reset' }],
  ['has silence behind it', { handshake: 'stall' }],
])('where STARTTLS %s, the same host is tried once more in clear, and remembered', async (_, script, tls) => {
  const exchanger = await offering(script, tls)
  const other = await exchangerWith()
  const [engine, site] = [engineWith(), siteOf(exchanger, other)]
  expect(await send(engine, site)).toMatchObject({ outcome: { kind: 'delivered' }, tls: null, mx: 'mx1.example.test' })
  expect(exchanger.sessions).toHaveLength(2)
  expect(wordsOf(exchanger)[1]).toBe('EHLO MAIL RCPT DATA .')
  exchanger.script.rcpt = 'close'
  expect(await send(engine, site)).toMatchObject({ mx: 'mx2.example.test' })
  exchanger.script.rcpt = undefined
  expect(await send(engine, { ...site, key: 'another' })).toMatchObject({ tls: null, mx: 'mx1.example.test' })
  expect(wordsOf(exchanger).filter((words) => words.includes('STARTTLS'))).toHaveLength(1)
})

test.each<[string, Script, object, string]>([
  ['refused', { starttls: '454 4.7.0 TLS not available' }, CERTIFICATE, '454 4.7.0 TLS not available'],
  ['reset', { handshake: 'reset' }, CERTIFICATE, 'ECONNRESET'],
  [
    'too old',
    {},
    { ...CERTIFICATE, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' },
    'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  ],
])('a handshake that was %s before the message went in clear is one of the tries', async (_, script, tls, detail) => {
  const exchanger = await offering(script, tls)
  const [engine, site] = [engineWith(), siteOf(exchanger)]
  expect(await send(engine, site)).toMatchObject({
    outcome: { kind: 'delivered' },
    tls: null,
    tried: [{ mx: 'mx1.example.test', ip: '127.0.0.1', phase: 'starttls', detail }],
  })
  // The next message has no handshake, and so has no try.
  expect((await send(engine, site)).tried).toBeUndefined()
})

test('a handshake that failed before a host in clear that fails, too, is one of the tries', async () => {
  const exchanger = await offering({ starttls: '454 4.7.0 TLS not available', ehlo: '250-mx.test\r\n250 STARTTLS' })
  exchanger.script.greeting = (_line, times) => (times > 0 ? '554 5.7.1 go away' : undefined)
  expect(await send(engineWith(), siteOf(exchanger))).toMatchObject({
    reply: { code: 554 },
    tried: [{ phase: 'starttls', detail: '454 4.7.0 TLS not available' }],
  })
})

test('the broken TLS of a host is forgotten after a while', async () => {
  const exchanger = await offering({ starttls: (_line, times) => (times === 0 ? '454 4.7.0 later' : undefined) })
  const engine = engineWith({ limits: { cleartextMs: 1_000 } })
  expect(await send(engine, { ...siteOf(exchanger), key: '1' })).toMatchObject({ tls: null })
  await outlast(1_050)
  expect(await send(engine, { ...siteOf(exchanger), key: '2' })).toMatchObject({ tls: { version: 'TLSv1.3' } })
})

test('only a number of hosts with broken TLS are remembered, the latest ones', () => {
  const hosts = createHostMemory(60_000, 2)
  const host = (name: string) => ({ name, port: 25, preference: 0, addresses: [] })
  for (const name of ['a', 'b', 'a', 'c']) hosts.add(host(name))
  expect(['a', 'b', 'c'].map((name) => hosts.has(host(name)))).toEqual([true, false, true])
})

test.each([
  ['a whole reply', '220 go ahead\r\n250-injected\r\n250 STARTTLS\r\n'],
  ['part of a line', '220 go ahead\r\n250 inj'],
])(
  '%s after the reply to STARTTLS is an injection: the connection is closed and nothing is sent in clear',
  async (_, raw) => {
    const exchanger = await offering({ starttls: { raw }, handshake: 'stall' })
    const attempt = await send(engineWith(), siteOf(exchanger))
    expect(attempt).toMatchObject({ phase: 'starttls', outcome: { reason: 'temporary_failure' } })
    await eventually(() => expect(exchanger.sessions.every(({ closed }) => closed)).toBe(true))
    expect(wordsOf(exchanger)).toEqual(['EHLO STARTTLS', 'EHLO STARTTLS'])
    expect(exchanger.messages).toEqual([])
  },
)

test('after one injection a fresh connection is tried, with TLS', async () => {
  const exchanger = await offering({
    starttls: (_line, times) => (times === 0 ? { raw: '220 go\r\n250 x\r\n' } : undefined),
    handshake: (_line, times) => (times === 0 ? 'stall' : undefined),
  })
  expect(await send(engineWith(), siteOf(exchanger))).toMatchObject({ tls: { verified: true } })
})

test.each(['close', 'reset', 'stall'] as const)('a %s at the second EHLO leads to the next host', async (fault) => {
  const first = await offering({ ehlo: (_line, times) => (times === 1 ? fault : OFFER) })
  const second = await exchangerWith()
  expect(await send(engineWith(), siteOf(first, second))).toMatchObject({
    outcome: { kind: 'delivered' },
    mx: 'mx2.example.test',
  })
})

test('extensions offered before TLS count for nothing after it', async () => {
  const before = '250-mx.test\r\n250-PIPELINING\r\n250-SIZE 1\r\n250 STARTTLS'
  const exchanger = await offering({ ehlo: (_line, times) => (times === 0 ? before : '250 mx.test') })
  expect(outcomeOf(await send(engineWith(), siteOf(exchanger)))).toBe('delivered')
  expect(exchanger.sessions[0]!.segments).toContain('MAIL FROM:<sender@sender.test>\r\n')
})

test('when the caller gives up in the handshake, it is our fault and the host keeps its TLS', async () => {
  const exchanger = await offering({ handshake: (_line, times) => (times === 0 ? 'stall' : undefined) })
  const engine = engineWith()
  const caller = new AbortController()
  const sending = send(engine, siteOf(exchanger), { signal: caller.signal })
  await eventually(() => expect(exchanger.sessions[0]!.commands).toContain('STARTTLS'))
  caller.abort()
  expect(outcomeOf(await sending)).toBe('our_fault')
  expect(await send(engine, siteOf(exchanger))).toMatchObject({ tls: { version: 'TLSv1.3' } })
})

test('a handshake that our own deadline cut short proves nothing about the server, which keeps its TLS', async () => {
  const exchanger = await offering({ handshake: (_line, times) => (times === 0 ? 'stall' : undefined) })
  const engine = engineWith({ limits: { commandMs: 10_000 } })
  expect(outcomeOf(await send(engine, siteOf(exchanger), { budgetMs: 3_000 }))).toBe('connection_timeout')
  expect(await send(engine, siteOf(exchanger))).toMatchObject({ tls: { version: 'TLSv1.3' } })
})

test('a failed handshake and then a closed port is a connection timeout', async () => {
  const exchanger = await offering({
    starttls: (_line) => 'close',
    greeting: (_line, times) => (times > 0 ? 'close' : undefined),
  })
  const attempt = await send(engineWith(), siteOf(exchanger, await closedPort()))
  expect(outcomeOf(attempt)).toBe('connection_timeout')
})

const demanding = (site: Site) => demandTls(site, 'MTA-STS')

test('where TLS is demanded, a host with a trusted certificate that names it is used', async () => {
  const exchanger = await offering()
  const attempt = await send(engineWith(), demanding(siteOf(exchanger)))
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, tls: { version: 'TLSv1.3', verified: true } })
  expect(wordsOf(exchanger)).toEqual(['EHLO STARTTLS EHLO MAIL RCPT DATA .'])
})

const UNVERIFIED = { version: 'TLSv1.3', verified: false }
const WEAK = { ...WEAK_CERTIFICATE, ciphers: 'DEFAULT:@SECLEVEL=0' }

test.each<[string, Script, object | undefined, { tls: object | null; detail: RegExp; reply?: object }]>([
  ['offers no STARTTLS', { ehlo: '250-mx.test\r\n250 PIPELINING' }, {}, { tls: null, detail: /is not offered$/ }],
  ['knows no EHLO', { ehlo: '502 5.5.1 what?' }, {}, { tls: null, detail: /is not offered$/ }],
  [
    'refuses STARTTLS with 454',
    { starttls: '454 4.7.0 not available' },
    undefined,
    { tls: null, detail: /was refused$/, reply: { code: 454, enhanced: '4.7.0', text: 'not available' } },
  ],
  ['answers STARTTLS with a close', { starttls: 'close' }, undefined, { tls: null, detail: /: closed/ }],
  ['breaks off the handshake', { handshake: 'close' }, undefined, { tls: null, detail: /: / }],
  ['has no certificate', {}, {}, { tls: null, detail: /: ERR_SSL/ }],
  ['has a certificate of another name', {}, SECOND_CERTIFICATE, { tls: UNVERIFIED, detail: /ALTNAME_INVALID$/ }],
  ['has a certificate that has expired', {}, EXPIRED_CERTIFICATE, { tls: UNVERIFIED, detail: /CERT_HAS_EXPIRED$/ }],
  ['has an untrusted certificate', {}, RECEIVER_CERTIFICATE, { tls: UNVERIFIED, detail: /VERIFY_LEAF_SIGNATURE$/ }],
  ['has a certificate that is weak', {}, WEAK, { tls: UNVERIFIED, detail: /: EE certificate key too weak$/ }],
])('where TLS is demanded, a host that %s is not used and learns nothing of the message', async (...row) => {
  const [, script, tls, expected] = row
  const exchanger = await offering(script, tls)
  const attempt = await send(engineWith(), demanding(siteOf(exchanger)), { budgetMs: 3_000 })
  expect(attempt).toMatchObject({
    phase: 'starttls',
    outcome: { kind: 'bounced', reason: 'policy_block' },
    mx: 'mx1.example.test',
    ip: '127.0.0.1',
    tls: expected.tls,
    detail: expect.stringMatching(expected.detail),
  })
  expect(attempt.detail).toMatch(/^MTA-STS demands TLS with a valid certificate: /)
  expect(attempt.reply).toEqual(expected.reply)
  expect(
    exchanger.sessions.flatMap(({ commands }) => commands).filter((line) => /^(MAIL|RCPT|DATA)/.test(line)),
  ).toEqual([])
  expect(exchanger.sessions).toHaveLength(1)
})

test('where TLS is demanded, silence at any moment is no lack of TLS: a timeout, and nothing goes in clear', async () => {
  const silences: [string, Script][] = [
    ['greeting', { greeting: 'stall' }],
    ['ehlo', { ehlo: 'stall' }],
    ['starttls', { starttls: 'stall' }],
    ['starttls', { handshake: 'stall' }],
    ['ehlo', { ehlo: (_line, times) => (times === 0 ? OFFER : 'stall') }],
  ]
  const world = fc.record({
    silence: fc.constantFrom(...silences),
    by: fc.constantFrom('MTA-STS' as const, 'the sending domain' as const),
    hasNext: fc.boolean(),
    commandMs: fc.integer({ min: 50, max: 150 }),
  })
  await fc.assert(
    fc.asyncProperty(world, async ({ silence: [phase, script], by, hasNext, commandMs }) => {
      const silent = await offering(script)
      const site = siteOf(silent, ...(hasNext ? [await closedPort()] : []))
      const attempt = await send(engineWith({ limits: { commandMs } }), demandTls(site, by))
      const outcome = { kind: 'bounced', reason: 'connection_timeout', retryable: true }
      expect(attempt).toMatchObject(hasNext ? { outcome } : { outcome, phase })
      expect(silent.sessions.flatMap(({ commands }) => commands).join()).not.toMatch(/MAIL|RCPT|DATA/)
    }),
    { numRuns: 20 },
  )
})

test('an older TLS version counts as none', async () => {
  const old = { ...CERTIFICATE, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }
  expect(await send(engineWith(), demanding(siteOf(await offering({}, old))))).toMatchObject({
    outcome: { reason: 'policy_block' },
    tls: null,
  })
})

test('where TLS is demanded and that of the first host is not good enough, the second host is used', async () => {
  const [first, second] = [await offering({}, EXPIRED_CERTIFICATE), await offering({}, SECOND_CERTIFICATE)]
  const attempt = await send(engineWith(), demanding(siteOf(first, second)))
  expect(attempt).toMatchObject({ outcome: { kind: 'delivered' }, mx: 'mx2.example.test', tls: { verified: true } })
})

test('the bad TLS of the first host is better evidence than the closed port of the second', async () => {
  const site = demanding(siteOf(await offering({}, EXPIRED_CERTIFICATE), await closedPort()))
  expect(await send(engineWith(), site)).toMatchObject({ mx: 'mx1.example.test', tls: UNVERIFIED, detail: /MTA-STS/ })
})

test('a host with broken TLS that got mail in clear does not get it in clear where TLS is demanded', async () => {
  const exchanger = await offering({ starttls: (_line, times) => (times === 0 ? '454 4.7.0 later' : undefined) })
  const engine = engineWith()
  expect(await send(engine, siteOf(exchanger))).toMatchObject({ outcome: { kind: 'delivered' }, tls: null })
  expect(await send(engine, demanding(siteOf(exchanger)))).toMatchObject({ tls: { verified: true } })
  expect(exchanger.sessions).toHaveLength(3)
})

test('an open connection in clear, or with an unverified certificate, is not reused where TLS is demanded', async () => {
  for (const exchanger of [await exchangerWith(), await offering({}, EXPIRED_CERTIFICATE)]) {
    const engine = engineWith()
    expect(outcomeOf(await send(engine, siteOf(exchanger)))).toBe('delivered')
    expect(outcomeOf(await send(engine, demanding(siteOf(exchanger))))).toBe('policy_block')
    expect(exchanger.messages).toHaveLength(1)
  }
})

test('in one delivery, the demand for TLS holds for the recipients of its domain and not for the others', async () => {
  const exchanger = await exchangerWith()
  const site = siteOf(exchanger)
  const attempts = await engineWith().deliver({
    ...deliveryTo(site),
    recipients: [
      { address: 'a@strict.test', site: demanding(site) },
      { address: 'b@plain.test', site },
    ],
  })
  expect(attempts.map(outcomeOf)).toEqual(['policy_block', 'delivered'])
  expect(exchanger.messages.map(({ to }) => to)).toEqual([['b@plain.test']])
})

test('a second demand changes nothing', () => {
  const site = demanding({ key: 'k', hosts: [] })
  expect(demandTls(site, 'the sending domain')).toBe(site)
})

test('an injection after STARTTLS is also one where TLS is demanded', async () => {
  const exchanger = await offering({ starttls: { raw: '220 go\r\n250 x\r\n' }, handshake: 'stall' })
  expect(outcomeOf(await send(engineWith(), demanding(siteOf(exchanger))))).toBe('temporary_failure')
  expect(exchanger.messages).toEqual([])
})

test('when the caller gives up in a demanded handshake, it is our fault', async () => {
  const exchanger = await offering({ handshake: 'stall' })
  const caller = new AbortController()
  const sending = send(engineWith(), demanding(siteOf(exchanger)), { signal: caller.signal })
  await eventually(() => expect(exchanger.sessions[0]!.commands).toContain('STARTTLS'))
  caller.abort()
  expect(outcomeOf(await sending)).toBe('our_fault')
})
