import { afterAll, expect, test } from 'vitest'
import { FairTurns } from '../../net/fair-turns.ts'
import { startApi } from '../services/api.ts'

// A request without a key waits for the turn of a stranger, whatever it asks for. The list of paths is that of the
// server, so that a new one is covered.

const { takeAsStranger } = FairTurns.prototype
let turns = 0
Object.assign(FairTurns.prototype, {
  takeAsStranger(this: FairTurns, network: string) {
    turns++
    return takeAsStranger.call(this, network)
  },
})
afterAll(() => void Object.assign(FairTurns.prototype, { takeAsStranger }))

const api = await startApi()
/** Health and reflection have turns of their own: those of their bodies. Health checks wait for none. */
const HEALTH = ['/healthz', '/readyz']
const paths = api.app.paths.filter(({ path }) => !path.startsWith('/grpc.') && !HEALTH.includes(path))
const CASES = [
  ...paths.flatMap(({ path, verbs }) => verbs.map((verb) => [verb, path] as const)),
  ['GET', '/nothing/there'] as const,
  ['DELETE', '/healthz'] as const,
]

test.each(HEALTH)('%s waits for no turn', async (path) => {
  turns = 0
  expect((await fetch(api.url + path)).ok).toBe(true)
  expect(turns).toBe(0)
})

test.each(CASES)('%s %s without a key waits for the turn of a stranger', async (method, path) => {
  turns = 0
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(api.url + path.replaceAll(/\{\w+\}/g, 'x'), {
    method,
    ...(method !== 'GET' && { headers, body: '{}' }),
    redirect: 'manual',
    signal: AbortSignal.timeout(5_000),
  })
  await response.body?.cancel()
  expect(turns).toBeGreaterThan(0)
})
