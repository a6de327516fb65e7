import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { rsaMicros } from './load/rsa.ts'
import type { Report, RunOptions } from './report.ts'

// `npm run bench -- <name> [--peer] [--size <rows>]` prints lines for people, then one line of JSON. The exit code is 1
// when a bar is missed. `--keep <folder>` keeps a filled database for the next run. `--minutes` is the length of a
// soak. `--against <folder>` is another checkout.

const NAMES = `
  engine gateway send front grpc gzip latency memory import repeat duplicates stats lists dashboard erase mentions
  tabs receipts limiter webhooks endpoint telemetry storm retries fair doors temporal-away temporal-cluster verify
  start growth half price processes soak disk archive parquet verdicts stream shards since
`
  .trim()
  .split(/\s+/)
/** The benches that measure another program beside ours. */
const WITH_PEER = ['engine', 'gateway', 'send', 'webhooks']

const { values, positionals } = readArguments()
const [name] = positionals
if (positionals.length !== 1 || !NAMES.includes(name!)) {
  usage(positionals.length === 1 ? `There is no bench named ${JSON.stringify(name)}.` : 'Name one bench.')
}

// Child processes end with this process, also when it is interrupted.
for (const [signal, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
  process.once(signal, () => process.exit(code))
}

// A send signs once with RSA, and no figure of a machine differs more from others'.
const machine = { 'this machine: RSA-2048 signature, us': rsaMicros(), 'this machine: load before': loadavg()[0]! }
console.log(`${cpus().length} cores; ${describe(machine)}`)

if (values.peer && !WITH_PEER.includes(name!)) console.log('This bench has no peer.')
const { run } = (await import(`./${name}.ts`)) as { run(options: RunOptions): Promise<Report> }
const report = await run({
  peer: values.peer,
  size: numberOf(values.size),
  keep: values.keep,
  against: values.against,
  minutes: numberOf(values.minutes),
})
const { bars } = report
const figures = { ...machine, ...report.figures }
console.log()
for (const [figure, value] of Object.entries(figures)) console.log(`${figure.padEnd(44)} ${round(value)}`)
for (const { name, value, limit, holds } of bars) {
  console.log(`${holds ? 'holds' : 'MISSED'}  ${name} ${round(limit)}: ${round(value)}`)
}
console.log(JSON.stringify({ bench: name, figures: roundAll(figures), bars: bars.map(roundBar) }))
process.exit(bars.every(({ holds }) => holds) ? 0 : 1)

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        peer: { type: 'boolean', default: false },
        size: { type: 'string' },
        keep: { type: 'string' },
        against: { type: 'string' },
        minutes: { type: 'string' },
      },
    })
  } catch (error) {
    return usage((error as Error).message)
  }
}

function usage(message: string): never {
  const options = '[--peer] [--size <rows>] [--keep <folder>] [--against <folder>] [--minutes <n>]'
  console.error(`${message}\nUsage: npm run bench -- <${NAMES.join('|')}> ${options}`)
  process.exit(2)
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text)
}

function describe(values: Report['figures']): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${round(value)}`)
    .join('; ')
}

/** Rounds to four significant digits. */
function round(value: number): number {
  return Number(value.toPrecision(4))
}

function roundAll(figures: Report['figures']): Report['figures'] {
  return Object.fromEntries(Object.entries(figures).map(([figure, value]) => [figure, round(value)]))
}

function roundBar(bar: Report['bars'][number]) {
  return { ...bar, value: round(bar.value) }
}
