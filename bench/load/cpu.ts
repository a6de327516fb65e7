import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

// Processor time from Linux's /proc, in seconds. Its ticks are 10 ms.
const TICKS_PER_SECOND = 100

/** Of whole process trees, children that have ended included. */
function cpuOfTrees(roots: readonly number[]): number {
  const spent = new Map<number, number>()
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    const fields = statOf(name)
    if (!fields) continue
    const [parent, ticks] = [Number(fields[1]), fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)]
    spent.set(Number(name), ticks)
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const trees = new Set(roots)
  for (const pid of trees) for (const child of children.get(pid) ?? []) trees.add(child)
  return [...trees].reduce((sum, pid) => sum + (spent.get(pid) ?? 0), 0) / TICKS_PER_SECOND
}

/** The fields of proc(5) from the third on, or nothing when there is no such process (any more). */
function statOf(name: string): string[] | undefined {
  if (!/^\d+$/.test(name)) return undefined
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** What the machine's processors did for any process, and what the host took from them; interrupts are nobody's. */
function cpuOfMachine(): number {
  const [, user, nice, system, , , , , stolen] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/\s+/)
  return (Number(user) + Number(nice) + Number(system) + Number(stolen)) / TICKS_PER_SECOND
}

export interface Measured<Result> {
  result: Result
  seconds: number
  /** Seconds of processor time by tree, what follows the last arrival within half a second included. */
  cpu: number[]
  /** The share of all processors that neither we nor the measured trees used. */
  foreign: number
}

const SETTLES_WITHIN_MS = 500

/** Does the work and counts what each tree (given by the ids of its roots) spends on it. */
export async function measure<Result>(
  trees: readonly (readonly number[])[],
  work: () => Promise<Result>,
): Promise<Measured<Result>> {
  const known = [process.pid, ...trees.flat()]
  const read = () => ({ trees: trees.map(cpuOfTrees), known: cpuOfTrees(known), machine: cpuOfMachine() })
  const before = read()
  const startedAt = performance.now()
  const result = await work()
  const seconds = (performance.now() - startedAt) / 1000
  await sleep(SETTLES_WITHIN_MS)
  const after = read()
  const elapsed = (performance.now() - startedAt) / 1000
  const strange = after.machine - before.machine - (after.known - before.known)
  return {
    result,
    seconds,
    cpu: after.trees.map((spent, i) => spent - before.trees[i]!),
    foreign: Math.max(0, strange) / elapsed / cpus().length,
  }
}

/** Waits, so long at the most, for half a second in which other work takes less than a tenth of the processors. */
export async function calm(patienceMs: number): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (performance.now() < deadline) {
    const { foreign } = await measure([], async () => {})
    if (foreign < 0.1) return
  }
}
