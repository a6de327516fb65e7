import { randomBytes } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { testDatabase } from '../harness/postgres.ts'
import { readStatements } from '../harness/postgres-wire.ts'
import { startApiProcess, startProgram, waitForOutput } from '../harness/process.ts'
import { startProxy } from '../harness/proxy.ts'
import { outlast } from '../harness/waits.ts'

// The database goes away at every step of a start. A step is a statement that no earlier start had: whoever adds one
// has it tested.

vi.setConfig({ testTimeout: 300_000 })

/** Long enough that a step does not find it again by its own second try. */
const AWAY_MS = 1_000
/** How often it goes away in one start. */
const TIMES = 8

const STARTS = {
  API: startApiProcess,
  async worker(env: NodeJS.ProcessEnv) {
    const worker = startProgram(process.execPath, ['workflows/worker.ts'], { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1' })
    await waitForOutput(worker, /"msg":"ready"/)
    return worker
  },
}

test.each(['API', 'worker'] as const)('the %s starts although its database goes away at each step', async (name) => {
  const database = await testDatabase()
  const { hostname, port } = new URL(database.url)
  const target = { host: hostname, port: Number(port) }
  const proxy = await startProxy(target)
  const url = new URL(database.url)
  url.port = String(proxy.port)
  const env = { DATABASE_URL: url.href, ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}` }

  const steps = new Set<string>()
  for (let broken = TIMES; broken === TIMES; ) {
    broken = 0
    const statementsOf = readStatements()
    let isAway = false
    proxy.onMessage = (message) => {
      const next = statementsOf(message).starts.find((sql) => !steps.has(sql))
      if (next === undefined || isAway || broken === TIMES) return undefined
      steps.add(next)
      broken++
      isAway = true
      proxy.target = undefined
      setImmediate(proxy.reset)
      void outlast(AWAY_MS).then(() => {
        isAway = false
        proxy.target = target
      })
      return 'reset'
    }
    const started = await STARTS[name](env)
    proxy.onMessage = () => undefined
    expect(await started.kill('SIGTERM')).toBe(0)
  }
  console.log(`${name}: ${steps.size} steps`)
  await proxy.close()
})
