import { PARTS, RESULTS } from './parts.ts'
import { cleanCommit, runParts } from './run-parts.ts'

// `node .ci/main.ts run` runs the parts that run for every change. `node .ci/main.ts full [part...]` runs all parts, or
// those named; without names, it does not repeat a part that passed at this commit.

const [mode, ...names] = process.argv.slice(2)
const unknown = names.filter((name) => !PARTS.some((part) => part.name === name))
if (unknown.length > 0) {
  console.error(`Unknown parts: ${unknown.join(', ')}. The parts are ${PARTS.map(({ name }) => name).join(', ')}.`)
  process.exit(2)
}
const parts = PARTS.filter(({ name, each }) => (mode === 'run' ? each === 'change' : !names[0] || names.includes(name)))
const resume = mode === 'full' && names.length === 0
const passed = await runParts(parts, { results: RESULTS, commit: cleanCommit(), resume, print: console.log })
process.exitCode = passed ? 0 : 1
