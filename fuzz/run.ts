import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { Problem } from '../dev/problem.ts'
import { changedSince, isConcerned, lastLanded } from './changed.ts'
import { keep } from './found.ts'
import { type Played, play } from './play.ts'
import { TARGETS } from './targets.ts'

// `npm run fuzz -- [name] [--seconds <n>] [--seed <n>] [--since <commit>]` generates inputs for one target or for all,
// `--seconds` for each. With `--since`, a target whose code changed since that commit gets four times as long; without
// that commit in this clone, all do. `--since landed` is the commit of `origin/main` that this work began at. The exit
// code is 1 when an input breaks a law. The input is then in `fuzz/found/`.

const DEFAULT_SECONDS = 60
const CHANGED_FACTOR = 4

const { values, names } = readArguments()
const seconds = numberOf('seconds', values.seconds) ?? DEFAULT_SECONDS
const seed = numberOf('seed', values.seed) ?? Math.floor(Math.random() * 2 ** 31)
const changed = values.since === undefined ? [] : changedSince(values.since === 'landed' ? lastLanded() : values.since)

// Child processes end with this process, also when it is interrupted.
for (const [signal, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
  process.once(signal, () => process.exit(code))
}

let runs = 0
let finds = 0
const startedAtMs = performance.now()
try {
  for (const name of names) await playTarget(name)
} catch (error) {
  if (!(error instanceof Problem)) throw error
  console.error(error.message)
  process.exit(1)
}
const elapsed = inSeconds(performance.now() - startedAtMs)
console.log(`Targets: ${names.length}, inputs: ${count(runs)}, finds: ${finds}, seed: ${seed}, time: ${elapsed}`)
process.exit(finds === 0 ? 0 : 1)

async function playTarget(name: string): Promise<void> {
  const { covers, load } = TARGETS[name]!
  const factor = changed && !isConcerned(covers, changed) ? 1 : CHANGED_FACTOR
  const print = (runs: number, elapsedMs: number, end = '') =>
    console.log(
      `${name.padEnd(10)} ${count(runs)} inputs in ${inSeconds(elapsedMs)}, ${count((runs / elapsedMs) * 1_000)}/s${end}`,
    )
  const played = await play(await load(), {
    seed,
    seconds: values.since === undefined ? seconds : seconds * factor,
    progress: (runs, elapsedMs) => print(runs, elapsedMs, ' ...'),
  })
  print(played.runs, played.elapsedMs, `, seed ${seed}${played.find ? ', BROKEN' : ''}`)
  runs += played.runs
  if (played.runs === 0 && !played.find) throw new Problem(`${name}: no input was checked. Give it more seconds.`)
  if (played.find) report(name, played.find)
}

function report(name: string, { input, error }: NonNullable<Played['find']>): void {
  finds++
  const file = relative('', keep(name, input))
  console.log(`\nThis input breaks the law at the head of fuzz/${name}.ts:\n${JSON.stringify(input, null, 2)}`)
  console.log(`\n${error.stack ?? error}\n`)
  console.log(`It is kept in ${file}, and \`npx vitest run test/fuzz/found.process.test.ts\` checks it again.\n`)
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { seconds: { type: 'string' }, seed: { type: 'string' }, since: { type: 'string' } },
    })
    if (positionals.length > 1) return usage('Name one target, or none for all.')
    const unknown = positionals.find((name) => !Object.hasOwn(TARGETS, name))
    if (unknown !== undefined) return usage(`There is no target named ${JSON.stringify(unknown)}.`)
    return { values, names: positionals.length > 0 ? positionals : Object.keys(TARGETS) }
  } catch (error) {
    return usage((error as Error).message)
  }
}

function usage(message: string): never {
  const options = '[--seconds <n>] [--seed <n>] [--since <commit>]'
  console.error(`${message}\nUsage: npm run fuzz -- [${Object.keys(TARGETS).join('|')}] ${options}`)
  process.exit(2)
}

function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  return /^\d{1,10}$/.test(text) ? Number(text) : usage(`--${option}: must be a whole number`)
}

function count(number: number): string {
  return Math.round(number).toLocaleString('en')
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
