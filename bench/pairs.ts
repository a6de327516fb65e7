import { type Measured, measure, untilCalm } from './load/cpu.ts'
import { median } from './report.ts'

/** The figures of one round of one side. */
export interface Round {
  perSecond: number
  /** Processor time per message, in microseconds, of all processes of the side. */
  cpuMicros: number
  /** The share of all processors that other work took: neither side and no load tool. */
  foreign: number
}

export interface Pair<Ours extends Round = Round, Theirs extends Round = Round> {
  ours: Ours
  theirs: Theirs
}

const ROUNDS = 5
/** A round in which other work took more than this share of the processors is repeated. */
const MAX_FOREIGN = 0.15
/** At most this many rounds are repeated. */
const MAX_REPEATS = 3

/** Plays one round. `trees` are the roots of the side's process trees. */
export async function round(trees: readonly number[], messages: number, work: () => Promise<unknown>): Promise<Round> {
  return roundOf(await measure([trees], work), messages)
}

export function roundOf({ seconds, cpu, foreign }: Measured<unknown>, messages: number): Round {
  const spent = cpu.reduce((sum, one) => sum + one, 0)
  return { perSecond: messages / seconds, cpuMicros: (spent * 1e6) / messages, foreign }
}

/**
 * Plays rounds of both sides in turns. The same machine is a third faster or slower an hour later, so only what is
 * measured side by side can be compared. Each round begins on a calm machine and after one of the other side: a side
 * that plays at once after itself is up to a tenth cheaper.
 */
export async function playPairs<Ours extends Round, Theirs extends Round>(
  ours: () => Promise<Ours>,
  theirs: () => Promise<Theirs>,
  peer = 'Postfix',
  rounds = ROUNDS,
  areOursFirst = true,
): Promise<Pair<Ours, Theirs>[]> {
  const pairs: Pair<Ours, Theirs>[] = []
  const undisturbed = () =>
    pairs.filter((pair) => pair.ours.foreign <= MAX_FOREIGN && pair.theirs.foreign <= MAX_FOREIGN)
  while (pairs.length < rounds || (undisturbed().length < rounds && pairs.length < rounds + MAX_REPEATS)) {
    const first = areOursFirst ? await onceCalm(ours) : undefined
    const other = await onceCalm(theirs)
    const pair = { theirs: other, ours: first ?? (await onceCalm(ours)) }
    pairs.push(pair)
    console.log(`round ${pairs.length}: ours ${describe(pair.ours)}; ${peer} ${describe(pair.theirs)}`)
  }
  if (undisturbed().length >= 3) return undisturbed()
  console.log(
    `Other work took more than ${MAX_FOREIGN * 100} % of the processors in most rounds: take these figures with care.`,
  )
  return pairs
}

async function onceCalm<Played>(play: () => Promise<Played>): Promise<Played> {
  await untilCalm()
  return play()
}

export function describe({ perSecond, cpuMicros, foreign }: Round): string {
  return `${perSecond.toFixed(0)}/s, ${cpuMicros.toFixed(0)} us CPU (${(foreign * 100).toFixed(0)} % foreign)`
}

/** The median of the ratios of all pairs. */
export function ratio<Figure extends string>(
  pairs: readonly Pair<Round & Record<Figure, number>, Round & Record<Figure, number>>[],
  figure: Figure,
): number {
  return median(pairs.map(({ ours, theirs }) => ours[figure] / theirs[figure]))
}

export function figuresOf(name: string, rounds: readonly Round[]): Record<string, number> {
  return {
    [`${name} messages/s`]: median(rounds.map(({ perSecond }) => perSecond)),
    [`${name} CPU us per message`]: median(rounds.map(({ cpuMicros }) => cpuMicros)),
  }
}
