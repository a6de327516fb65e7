import { spawn } from 'node:child_process'

// `npm run check`: the fast loop. Everything runs, one after the other, because the tests alone use every processor: their time limits
// are those of a machine that is not overloaded. What fails is shown whole, and the exit code says so.

const CHECKS: [name: string, command: string][] = [
  ['generated code is clean', 'node dev/gen.ts --check'],
  ['contract: lint and format', 'buf lint && buf format --diff --exit-code --path proto/verdict'],
  ['format and lint', 'biome ci --colors=off --error-on-warnings .'],
  ['types', 'tsc --noEmit'],
  ['tests', 'vitest run --project unit'],
]

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

const results: { ok: boolean; name: string; command: string; output: string }[] = []
for (const [name, command] of CHECKS) {
  const startedAt = performance.now()
  const { ok, output } = await run(command)
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
  results.push({ ok, name, command, output })
}
for (const { name, command, output } of results.filter((result) => !result.ok)) {
  console.log(`\n--- ${name}: ${command}\n${output}`)
}
process.exitCode = results.every((result) => result.ok) ? 0 : 1
