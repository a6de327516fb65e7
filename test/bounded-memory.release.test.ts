import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { createResolver } from '../mail/dns/resolver.ts'
import { createHostMemory } from '../mail/smtp/host-memory.ts'
import { createStsPolicies } from '../mail/smtp/sts-policies.ts'
import { memoize } from '../net/memoize.ts'
import { createUrlGuard } from '../net/url.ts'
import { createIdentify } from '../server/access/identify.ts'
import { createOpenCalls } from '../server/access/open-calls.ts'
import { createCredentialAttempts } from '../server/access/people/credential-attempts.ts'
import { createStrangers } from '../server/access/strangers.ts'
import { createWindows } from '../server/access/windows.ts'
import { createReadCache } from '../server/async/read-cache.ts'
import { type Counter, createInstrument, type Definition } from '../server/telemetry/instruments.ts'
import { testAccount } from './harness/account.ts'
import { startDns } from './harness/dns.ts'
import { startDashboard } from './harness/person.ts'

const MIB = 2 ** 20
/** As many texts of a whole request as no cache may keep: 150 MiB. */
const TEXTS = 10_000
const TEXT_CHARACTERS = 16_000

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

const account = await testAccount()
const dashboard = await startDashboard({ db: account.db, clock: account.clock, trustProxy: ['127.0.0.0/8'] })

const buffer = Buffer.alloc(TEXT_CHARACTERS, 'x')

/** A text of its own memory that no other `i` has. */
function text(i: number): string {
  buffer.write(`${i}-`.padEnd(10, 'x'))
  return buffer.toString('latin1')
}

const address = (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`

/** Without buffers, which V8 frees some time after a collection: texts are on the heap. */
function usedBytes(): number {
  collect()
  return getHeapStatistics().used_heap_size
}

type Flood = (i: number) => unknown

/** Bytes that are kept after `times` calls. `flooded` is what would keep them, and lives until they are measured. */
async function keptBy(flooded: unknown, flood: Flood, times = TEXTS): Promise<number> {
  await flood(-1)
  const before = usedBytes()
  for (let i = 0; i < times; i++) await flood(i)
  const kept = usedBytes() - before
  expect(flooded).toBeDefined()
  return kept
}

const visit = createWindows({ limit: 10, windowMs: 900_000 })
const stranger = createStrangers()
const openCalls = createOpenCalls()
const attempts = createCredentialAttempts()
const read = createReadCache({ read: async () => undefined, keepMs: 60_000, missingMs: 60_000, maxEntries: 10_000 })
const lengthOf = memoize((url) => ({ length: url.length }))
const urls = createUrlGuard({ allowSubnets: [] })
const hosts = createHostMemory(60_000)
const definition: Definition = { name: 'sends', help: 'Sends.', kind: 'counter', labels: { domain: 100 } }
const sends = createInstrument(definition) as Counter<Record<string, string>>

const ignore = () => {}

const FLOODS: [name: string, flooded: unknown, flood: Flood][] = [
  ['windows of any key', visit, (i) => visit(text(i))],
  ['windows of any address', stranger, (i) => stranger(address(i))],
  ['windows of texts that are no address', stranger, (i) => stranger(text(i))],
  ['calls that need no key', openCalls, (i) => openCalls.count(address(i))],
  [
    'wrong passwords of any email address, from any address and session',
    attempts,
    (i) =>
      attempts.run(
        { remoteAddress: address(i), email: text(i), session: text(i) },
        async () => false,
        (is) => !is,
      ),
  ],
  [
    'attempts over the limit',
    attempts,
    (i) =>
      attempts
        .run(
          { remoteAddress: '192.0.2.1', email: text(i) },
          async () => false,
          (isRight) => !isRight,
        )
        .catch(ignore),
  ],
  ['reads of any key', read, (i) => read(text(i))],
  ['functions of any text', lengthOf, (i) => lengthOf(text(i))],
  ['URLs of any length', urls, (i) => urls.destinationOf(`https://example.com/${text(i)}`)],
  ['URLs of the longest length', urls, (i) => urls.destinationOf(`https://example.com/${text(i).slice(0, 2_000)}`)],
  ['hosts with broken TLS', hosts, (i) => hosts.add({ name: text(i), port: 25, preference: 0, addresses: [] })],
  ['labels of metrics', sends, (i) => sends.add({ domain: text(i) })],
]

test.each(FLOODS)('%s take at most 24 MiB', async (_, flooded, flood) => {
  expect(await keptBy(flooded, flood)).toBeLessThan(24 * MIB)
})

test('credentials of any text take at most 24 MiB', async () => {
  const identify = createIdentify(account)
  const call = (i: number) =>
    identify({ authorization: `Bearer ${text(i)}`, remoteAddress: address(i), tellRate: ignore }).catch(ignore)
  expect(await keptBy(identify, call)).toBeLessThan(24 * MIB)
})

test('windows that have ended take nothing, although no visit follows', async () => {
  // Long enough for a slow machine to make all visits within it.
  const visitFor = createWindows({ limit: 10, windowMs: 8_000 })
  const before = usedBytes()
  for (let i = 0; i < 50_000; i++) visitFor(String(i))
  expect(usedBytes() - before).toBeGreaterThan(4 * MIB)
  await expect.poll(() => usedBytes() - before).toBeLessThan(2 * MIB)
  expect(visitFor).toBeDefined()
})

test('policies of as much text as a policy may have take at most 48 MiB', async () => {
  const pattern = 'a'.repeat(60)
  const policyOf = createStsPolicies({
    resolver: { txt: async () => ({ kind: 'records', records: ['v=STSv1; id=1'], ttlS: 60 }) },
    httpsGet: async (host) => {
      const names = Array.from({ length: 100 }, (_, i) => `mx: ${pattern}.${pattern}.${pattern}.${i}.${host}`)
      return { kind: 'got', text: `version: STSv1\nmode: enforce\nmax_age: 86400\n${names.join('\n')}\n` }
    },
  })
  expect(await keptBy(policyOf, (i) => policyOf(`domain${i}.test`), 3_000)).toBeLessThan(48 * MIB)
})

test('answers of as much text as a DNS server may send take at most 24 MiB', async () => {
  const names = 2_000
  const longTexts = Array.from({ length: 31 }, () => 'x'.repeat(255))
  const exchange = (i: number) => `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${i}.test`
  const dns = await startDns({
    '*': { overTcp: [] },
    ...Object.fromEntries(
      Array.from({ length: names }, (_, i) => [
        [`TXT ${i}.test`, { overTcp: [{ type: 'TXT', name: `${i}.test`, ttl: 3_600, data: longTexts }] }],
        [
          `MX ${i}.test`,
          {
            overTcp: Array.from({ length: 40 }, (_, n) => ({
              type: 'MX',
              name: `${i}.test`,
              ttl: 3_600,
              data: { preference: n, exchange: exchange(n) },
            })),
          },
        ],
      ]).flat(),
    ),
  })
  const resolver = createResolver({ servers: [dns.address] })
  const lookUp = async (i: number) => {
    const answers = await Promise.all([resolver.txt(`${i}.test`), resolver.mx(`${i}.test`)])
    if (i >= 0) expect(answers.map(({ kind }) => kind)).toEqual(['records', 'records'])
  }
  expect(await keptBy(resolver, lookUp, names)).toBeLessThan(24 * MIB)
  await dns.close()
})

test('requests to sign in with any text take at most 16 MiB', async () => {
  const signIn = async (i: number) => {
    const response = await fetch(`${dashboard.url}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address(i >> 3) },
      body: JSON.stringify({ email: text(i), password: 'wrong' }),
    })
    expect(response.status).toBe(400)
    await response.arrayBuffer()
  }
  expect(await keptBy(dashboard, signIn, 2_000)).toBeLessThan(16 * MIB)
})
