import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join, matchesGlob, relative } from 'node:path'
import { dependentsOf, importsOf } from './imports.ts'
import { judgeMutants, WORKERS } from './judge.ts'
import { type Mutant, mutantsOf } from './mutants.ts'
import { type MutationReport, mutationReport } from './report.ts'
import type { Room } from './rooms.ts'
import { startTestRuns, type TestRuns } from './test-runs.ts'

/** Judges the mutants of a room in an order that the seed decides, for these minutes. */
export async function measureRoom(
  room: Room,
  { root, minutes, seed, progress }: { root: string; minutes: number; seed: number; progress: (text: string) => void },
): Promise<MutationReport> {
  const filesOf = (globs: string[]) => {
    const files = globSync(globs, { cwd: root, exclude: ['**/*.{process,release}.test.ts'] })
    if (files.length === 0) throw new Error(`no file matches ${globs.join(', ')}`)
    return files.toSorted()
  }
  const mutants = filesOf(room.code).flatMap((file) =>
    mutantsOf(
      join(root, file),
      readFileSync(join(root, file), 'utf8'),
      room.wordLists?.some((glob) => matchesGlob(file, glob)),
    ),
  )
  const code = filesOf(room.code).map((file) => join(root, file))
  const dependents = dependentsOf(importsOf(root), code)
  const tests = filesOf(room.tests)
    .map((file) => join(root, file))
    .filter((test) => dependents.has(test))
  const workers: TestRuns[] = []
  try {
    while (workers.length < WORKERS) workers.push(await startTestRuns(tests))
    progress(`${mutants.length} mutants, ${tests.length} test files`)
    const judgements = await judgeMutants(shuffled(mutants, seed, root), {
      root,
      code,
      tests,
      workers,
      minutes,
      progress,
    })
    return mutationReport(judgements, room, root)
  } finally {
    for (const worker of workers) await worker.stop()
  }
}

/** The same order for the same seed, on every machine. */
function shuffled(mutants: Mutant[], seed: number, root: string): Mutant[] {
  const placeOf = ({ file, start, end, replacement }: Mutant) =>
    createHash('sha256')
      .update([seed, relative(root, file), start, end, replacement].join('\n'))
      .digest('hex')
  return mutants
    .map((mutant) => ({ mutant, place: placeOf(mutant) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ mutant }) => mutant)
}
