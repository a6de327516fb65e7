import { measure, untilCalm } from './load/cpu.ts'
import { type Dns, delegation, type Served, startDns } from './load/dns.ts'
import { startHttpLoad } from './load/http.ts'
import { pacedSends } from './load/paced-sends.ts'
import { startPosts } from './load/posts.ts'
import { startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { HOSTS, newDomain, publishedBy, startVerifications, storeDomains, verifierOf } from './load/verifications.ts'
import { figuresOf, playPairs, ratio, round } from './pairs.ts'
import { atLeast, atMost, median, percentile, type Report } from './report.ts'

/** The delay of each DNS answer. */
const RTT_MS = 50
const CHECKS = 10
const CHECKS_IN_SILENCE = 3
const DUE = 1_000

const MESSAGES = 5_000
const IN_FLIGHT = 64
const SECONDS = 8
const LATENCY_ROUNDS = 3

/** How long verifying a domain takes, also when servers are silent; and sends while a thousand domains are checked. */
export async function run(): Promise<Report> {
  await using dns = await startDns()
  const times = await timesOf(dns)
  const beside = await sendsBeside(dns)
  return { figures: { ...times.figures, ...beside.figures }, bars: [...times.bars, ...beside.bars] }
}

async function timesOf(dns: Dns): Promise<Report> {
  const domain = newDomain('shop.example.com')
  const operator = { ...HOSTS, returnPathHost: 'rp.operator.example' }
  const alias = [...publishedBy(domain, operator), ...publishedBy({ name: 'operator.example', dkimKeys: [] })]
  const zone = delegation('example.com')

  async function slowest(served: Served, hosts = HOSTS, count = CHECKS): Promise<number> {
    await dns.serve({ delayMs: RTT_MS, silent: [], ...served })
    const timesMs: number[] = []
    for (let i = 0; i < count; i++) {
      const startedAt = performance.now()
      await verifierOf(dns, hosts).check(domain)
      timesMs.push(performance.now() - startedAt)
    }
    return Math.max(...timesMs)
  }

  const responsive = {
    'all published': await slowest({ records: [...zone, ...publishedBy(domain)] }),
    'nothing published': await slowest({ records: zone }),
    'an alias to the operator': await slowest({ records: [...zone, ...alias] }, operator),
  }
  const records = [...zone, ...publishedBy(domain)]
  const silence = (...silent: Served['silent'] & object) => slowest({ records, silent }, HOSTS, CHECKS_IN_SILENCE)
  const silent = {
    'an authoritative server is silent': await silence('first'),
    'all authoritative servers are silent': await silence('first', 'second'),
    'the resolver is silent': await silence('resolver'),
    'everything is silent': await silence('resolver', 'first', 'second'),
  }
  const slowestMs = Object.entries({ ...responsive, ...silent }).map(([name, ms]) => [`${name}: slowest ms`, ms])
  return {
    figures: Object.fromEntries(slowestMs),
    bars: [
      atMost(`ms to verify a domain at ${RTT_MS} ms`, Math.max(...Object.values(responsive)), 2_000),
      atMost('ms to verify a domain in silence', Math.max(...Object.values(silent)), 6_000),
    ],
  }
}

async function sendsBeside(dns: Dns): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  await using posts = await startPosts()
  const { databaseUrl } = product
  const due = await storeDomains(databaseUrl, DUE)
  await dns.serve({ records: due.flatMap((domain) => publishedBy(domain)), delayMs: RTT_MS, silent: [] })
  await using verifications = await startVerifications({ databaseUrl, address: dns.address, port: dns.port })

  await verifications.ask('begin')
  const trees = [[verifications.pid], [product.postgresPid]]
  const { result: all, cpu } = await measure(trees, () => verifications.ask('finish'))

  async function beside<Result>(work: () => Promise<Result>): Promise<Result> {
    await verifications.ask('begin')
    const result = await work()
    const { checks } = (await verifications.ask('stop'))!
    if (checks >= DUE) throw new Error('All checks ended before the sends did')
    return result
  }
  const full = (requests: number) =>
    round([product.apiPid, product.postgresPid], requests, () =>
      http.ask(sendRun(product, { connections: IN_FLIGHT, requests })).then(expectDelivered),
    )
  async function p50At(perSecond: number): Promise<number> {
    const pace = { events: perSecond * SECONDS, perSecond }
    return percentile(await pacedSends(posts, product, pace), 0.5)
  }

  await full(1_000)
  const pairs = await playPairs(
    () => beside(() => full(MESSAGES)),
    () => full(MESSAGES),
    'alone',
  )
  const half = Math.round(median(pairs.map(({ theirs }) => theirs.perSecond)) / 2)
  const p50s: { ours: number; theirs: number }[] = []
  for (let number = 0; number < LATENCY_ROUNDS; number++) {
    await untilCalm()
    p50s.push({ ours: await beside(() => p50At(half)), theirs: await p50At(half) })
  }
  return {
    figures: {
      'checks/s': all!.checks / all!.seconds,
      'CPU ms per check': (cpu[0]! * 1_000) / all!.checks,
      'CPU ms of PostgreSQL per check': (cpu[1]! * 1_000) / all!.checks,
      ...figuresOf(
        'sends beside checks:',
        pairs.map(({ ours }) => ours),
      ),
      ...figuresOf(
        'sends alone:',
        pairs.map(({ theirs }) => theirs),
      ),
      'half rate, sends/s': half,
      'beside checks: p50 ms': median(p50s.map(({ ours }) => ours)),
      'alone: p50 ms': median(p50s.map(({ theirs }) => theirs)),
    },
    bars: [atLeast('sends/s beside checks relative to those alone', ratio(pairs, 'perSecond'), 0.95)],
  }
}
