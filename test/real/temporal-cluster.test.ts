import { execFile } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import { beforeAll, expect, inject, test } from 'vitest'
import { clusterPrograms, type Place, startTemporalCluster } from '../cluster/temporal.ts'
import { startTemporalScenario, type TemporalScenario } from '../cluster/temporal-scenario.ts'
import { untilEnd } from '../harness/until-end.ts'
import { letRun } from '../harness/waits.ts'

// The short part of `npm run cluster` for Temporal: its four services, two of each, on two addresses of this machine.

/** How long the killed services are away. */
const AWAY_MS = 15_000
/** What the recipients' servers and the service's checks may answer. */
const OUTCOMES = ['delivered', 'bounced', 'rejected']

let scenario: TemporalScenario
beforeAll(async () => {
  const { hostname: host, port, username: user, password } = new URL(inject('postgresUrl'))
  const network = `127.${randomInt(1, 250)}.${randomInt(1, 250)}`
  const place = (number: number): Place => ({
    name: `t${number}`,
    address: `${network}.${number}`,
    command: (line) => line,
  })
  const cluster = await startTemporalCluster({
    places: [place(1), place(2)],
    proxy: place(3),
    database: { host, port: Number(port), user, password },
    suffix: `_${randomBytes(4).toString('hex')}`,
  })
  scenario = untilEnd(await startTemporalScenario(cluster))
})

test('while a history and a frontend service are killed under load, no send fails, retries go on, and nothing is lost', async () => {
  const { temporal, underLoad, verdict } = scenario
  const seen = await underLoad('history and frontend killed', async () => {
    const killed = [temporal.of('history', 0), temporal.of('frontend', 1)]
    for (const service of killed) service.signal('SIGKILL')
    await letRun(AWAY_MS)
    for (const service of killed) await service.start()
  })
  expect(Object.keys(seen.sends).filter((outcome) => !OUTCOMES.includes(outcome))).toEqual([])
  // The other service of the kind takes over before the killed one is back.
  expect(seen.longestPauseMs).toBeLessThan(AWAY_MS)
  expect(await verdict()).toEqual([])
})

test('the server finds no fault in the dynamic configuration', async () => {
  const file = 'deploy/temporal/dynamic.yaml'
  const { 'temporal-server': server } = await clusterPrograms()
  const { stdout } = await promisify(execFile)(server, ['validate-dynamic-config', file])
  expect(stdout).toBe(`${file}\n`)
})
