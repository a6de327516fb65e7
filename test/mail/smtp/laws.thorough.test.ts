import { expect, test } from 'vitest'
import { cpuStopwatch } from '../../harness/stopwatch.ts'
import { firstBreach, LAWS } from './laws/laws.ts'

const CPU_MS_PER_LAW = 3_000
const NEW_SEED = Math.floor(Math.random() * 2 ** 31)

test.each(LAWS.map((law) => [law.name, law] as const))('%s', (_, law) => {
  const watch = cpuStopwatch()
  expect(firstBreach(law, NEW_SEED, () => watch.ms() < CPU_MS_PER_LAW)).toBeUndefined()
})
