import { type Product, startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { atMost, median, type Report, type RunOptions } from './report.ts'

const ADDRESSES = 10_000
const ROUNDS = 7

/** A whole suppression list in one request: HTTP, key, reading, matching, one commit. */
export async function run({ peer }: RunOptions): Promise<Report> {
  if (peer) console.log('This bench has no peer.')
  await using sink = await startSink()
  await using product = await startProduct(sink)

  const fresh: number[] = []
  const again: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const emails = Array.from({ length: ADDRESSES }, (_, i) => addressOf(round, i))
    const [first, second] = [
      await timed(product, emails, 'imported'),
      await timed(product, emails, 'already_suppressed'),
    ]
    console.log(`round ${round}: new ${first.toFixed(0)} ms, again ${second.toFixed(0)} ms`)
    fresh.push(first)
    again.push(second)
  }
  return {
    // The first round is what a process that has just started takes.
    figures: { 'new addresses, first ms': fresh[0]!, 'new addresses ms': median(fresh), 'again ms': median(again) },
    bars: [atMost('slowest import of 10,000 addresses, ms', Math.max(...fresh, ...again), 2_000)],
  }
}

/** As lists are: mixed case, every tenth in an internationalised domain, in no order. */
function addressOf(round: number, i: number): string {
  const local = `Customer.${((i * 7_919) % ADDRESSES).toString(36)}+${round}`
  return i % 10 === 0 ? `${local}@bücher-${i % 97}.example` : `${local}@Mail${i % 97}.example`
}

/** Milliseconds from the request to the whole answer. Throws when not every address is what it should be. */
async function timed({ port, key }: Product, emails: string[], expected: string): Promise<number> {
  const body = JSON.stringify({ emails })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const startedAt = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/suppression/import`, { method: 'POST', headers, body })
  const answer = (await response.json()) as Record<string, unknown>
  const elapsedMs = performance.now() - startedAt
  if (answer[expected] !== ADDRESSES) throw new Error(`not all ${expected}: ${JSON.stringify(answer).slice(0, 500)}`)
  return elapsedMs
}
