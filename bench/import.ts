import { type Product, startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { atMost, median, type Report } from './report.ts'

const ADDRESSES = 10_000
const ROUNDS = 7

/** Imports a whole suppression list in one request: HTTP, key, reading, matching, one commit. */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)

  const firstMs: number[] = []
  const repeatedMs: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const emails = Array.from({ length: ADDRESSES }, (_, i) => addressOf(round, i))
    const [first, second] = [
      await timeImport(product, emails, 'imported'),
      await timeImport(product, emails, 'already_suppressed'),
    ]
    console.log(`round ${round}: new ${first.toFixed(0)} ms, again ${second.toFixed(0)} ms`)
    firstMs.push(first)
    repeatedMs.push(second)
  }
  return {
    // The first round shows a process that has just started.
    figures: {
      'new addresses, first ms': firstMs[0]!,
      'new addresses ms': median(firstMs),
      'again ms': median(repeatedMs),
    },
    bars: [atMost('slowest import of 10,000 addresses, ms', Math.max(...firstMs, ...repeatedMs), 2_000)],
  }
}

/** An address like those of real lists: mixed case, every tenth in an internationalised domain, in no order. */
function addressOf(round: number, i: number): string {
  const local = `Customer.${((i * 7_919) % ADDRESSES).toString(36)}+${round}`
  return i % 10 === 0 ? `${local}@bücher-${i % 97}.example` : `${local}@Mail${i % 97}.example`
}

/** Milliseconds from the request to the whole response. Throws unless it counts every address as `expected`. */
async function timeImport({ port, key }: Product, emails: string[], expected: string): Promise<number> {
  const body = JSON.stringify({ emails })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const startedAt = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/suppression/import`, { method: 'POST', headers, body })
  const result = (await response.json()) as Record<string, unknown>
  const elapsedMs = performance.now() - startedAt
  if (result[expected] !== ADDRESSES) throw new Error(`not all ${expected}: ${JSON.stringify(result).slice(0, 500)}`)
  return elapsedMs
}
