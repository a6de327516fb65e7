import { spawn } from 'node:child_process'

// `npm run check`: the fast loop. The checks of the source run side by side. The tests follow alone, because they use
// every processor and their time limits assume a machine that is not overloaded. Every check runs; a failure prints its
// whole output, and the exit code is then 1.

type NamedCommand = [name: string, command: string]

/**
 * The longest first. TypeScript has one checker: a second one reads the same declarations once more, and the other
 * checks use the other processors. It checks again only what changed, by the files that `tsBuildInfoFile` names.
 */
const OF_THE_SOURCE: NamedCommand[] = [
  ['types', 'tsc --noEmit --checkers 1'],
  ['generated code is clean', 'node dev/gen.ts --check'],
  ['format and lint', 'biome ci --colors=off --error-on-warnings .'],
  ['types of the dashboard', 'tsc --noEmit --checkers 1 --project dashboard'],
  ['contract: callers of the last release', 'node dev/breaking.ts'],
  ['contract: lint and format', 'buf lint && buf format --diff --exit-code --path proto/verdict'],
]
/** The arguments of the command line go to Vitest. */
const TESTS: NamedCommand = ['tests', ['vitest run --project unit', ...process.argv.slice(2)].join(' ')]

function run(command: string): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    child.on('close', (code) => resolve({ ok: code === 0, output }))
  })
}

async function report([name, command]: NamedCommand) {
  const startedAt = performance.now()
  const { ok, output } = await run(command)
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
  return { ok, name, command, output }
}

const results = [...(await Promise.all(OF_THE_SOURCE.map(report))), await report(TESTS)]
for (const { name, command, output } of results.filter((result) => !result.ok)) {
  console.log(`\n--- ${name}: ${command}\n${output}`)
}
process.exitCode = results.every((result) => result.ok) ? 0 : 1
