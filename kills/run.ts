import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cleanCommit } from '../.ci/run-parts.ts'
import type { PartResult } from './part.ts'
import type { KillOptions } from './world.ts'

// `npm run kills -- <n> [--seed <s>] [--clocks-apart <ms>] [--database-delay <ms>]` kills and stops random processes n
// times under load, and looks for what breaks the law at the head of `kills/law.ts`. A part has 50 kills and a seed of
// its own, which it prints. Run again with the same arguments on the same commit, it goes on with the parts that have
// not passed. The exit code is 1 when a part broke the law.

const PART = 50
/** A part that takes longer hangs: 50 kills take four minutes. */
const PART_MS = 15 * 60_000

const { kills, seed, options } = readArguments()
const commit = cleanCommit()
const folder = fileURLToPath(new URL('results', import.meta.url))
mkdirSync(folder, { recursive: true })

const results: PartResult[] = []
for (let first = 0; first < kills; first += PART) {
  const part = { kills: Math.min(PART, kills - first), seed: seed + first / PART }
  results.push(passedBefore(part) ?? (await runPart(part)))
}
const sum = (of: (result: PartResult) => number) => results.reduce((total, result) => total + of(result), 0)
const names = new Set(results.flatMap(({ counts }) => Object.keys(counts)))
console.log(`In all: ${[...names].map((name) => `${name} ${sum(({ counts }) => counts[name] ?? 0)}`).join(', ')}`)
console.log(`Kills: ${sum((result) => result.kills)}, finds: ${sum(({ offences }) => offences)}, seed: ${seed}`)
process.exitCode = results.some(({ offences }) => offences > 0) ? 1 : 0

interface Part {
  kills: number
  seed: number
}

function fileOf({ kills, seed }: Part): string {
  const { clocksApartMs, databaseDelayMs } = options
  return `${folder}/${[commit ?? 'changed', seed, kills, clocksApartMs, databaseDelayMs].join('-')}.json`
}

/** What changed files did says nothing about a commit. */
function passedBefore(part: Part): PartResult | undefined {
  const result = commit === undefined ? undefined : readResult(part)
  if (result?.offences !== 0) return undefined
  console.log(`seed ${part.seed}: passed at this commit before`)
  return result
}

function readResult(part: Part): PartResult | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(part), 'utf8'))
  } catch {
    return undefined
  }
}

/** A separate process, so that nothing of a part lives on in the next. */
async function runPart(part: Part): Promise<PartResult> {
  const program = fileURLToPath(new URL('part.ts', import.meta.url))
  const child = spawn(process.execPath, [program, fileOf(part), `${part.kills}`, JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, FAULT_SEED: `${part.seed}` },
    timeout: PART_MS,
  })
  const [status] = await once(child, 'close')
  if (status === 0) return readResult(part)!
  console.log(`seed ${part.seed}: the part ended with ${status ?? 'a signal'}`)
  return { kills: 0, counts: {}, offences: 1 }
}

function readArguments(): { kills: number; seed: number; options: KillOptions } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        seed: { type: 'string' },
        'clocks-apart': { type: 'string', default: '0' },
        'database-delay': { type: 'string', default: '0' },
      },
    })
    const kills = numberOf('the number of kills', positionals[0])
    return {
      kills,
      seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 30) : numberOf('--seed', values.seed),
      options: {
        clocksApartMs: numberOf('--clocks-apart', values['clocks-apart']),
        databaseDelayMs: numberOf('--database-delay', values['database-delay']),
      },
    }
  } catch (error) {
    console.error(`${(error as Error).message}
Usage: npm run kills -- <kills> [--seed <n>] [--clocks-apart <ms>] [--database-delay <ms>]`)
    process.exit(2)
  }
}

function numberOf(name: string, text = ''): number {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`${name}: must be a whole number`)
  return Number(text)
}
