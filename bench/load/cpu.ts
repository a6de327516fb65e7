import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

// Processor time in seconds, read from Linux's /proc. Its ticks are 10 ms.
const TICKS_PER_SECOND = 100

/** The processor time of whole process trees. It includes children that have ended. */
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

/** The fields of proc(5), beginning with the third. Undefined when the process does not exist or has ended. */
function statOf(name: string): string[] | undefined {
  if (!/^\d+$/.test(name)) return undefined
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** The time that all processes used and that the host took. Interrupts belong to no process and do not count. */
function cpuOfMachine(): number {
  const [, user, nice, system, , , , , stolen] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/\s+/)
  return (Number(user) + Number(nice) + Number(system) + Number(stolen)) / TICKS_PER_SECOND
}

export interface Measured<Result> {
  result: Result
  seconds: number
  /** Seconds of processor time of each tree. It includes the half second after the work. */
  cpu: number[]
  /** The share of all processors that neither this process nor the measured trees used. */
  foreign: number
}

const SETTLES_WITHIN_MS = 500

/** Does the work and measures what each process tree spends on it. A tree is given by the process ids of its roots. */
export async function measure<Result>(
  trees: readonly (readonly number[])[],
  work: () => Promise<Result>,
): Promise<Measured<Result>> {
  const own = [process.pid, ...trees.flat()]
  const read = () => ({ trees: trees.map(cpuOfTrees), own: cpuOfTrees(own), machine: cpuOfMachine() })
  const before = read()
  const startedAt = performance.now()
  const result = await work()
  const seconds = (performance.now() - startedAt) / 1000
  await sleep(SETTLES_WITHIN_MS)
  const after = read()
  const elapsed = (performance.now() - startedAt) / 1000
  const foreignSeconds = after.machine - before.machine - (after.own - before.own)
  return {
    result,
    seconds,
    cpu: after.trees.map((spent, i) => spent - before.trees[i]!),
    foreign: Math.max(0, foreignSeconds) / elapsed / cpus().length,
  }
}

/** Waits, at most `withinMs`, for half a second in which other work takes less than a tenth of the processors. */
export async function untilCalm(withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs
  while (performance.now() < deadline) {
    const { foreign } = await measure([], async () => {})
    if (foreign < 0.1) return
  }
}
