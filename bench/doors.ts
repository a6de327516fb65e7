import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../dev/ports.ts'
import { createKey } from '../server/access/api-keys.ts'
import { createDatabaseClock } from '../server/db/clock.ts'
import { connect } from '../server/db/connect.ts'
import { createAccount } from '../server/directory/accounts.ts'
import { ATTACKS, type Attack } from './load/door-attack.ts'
import { restClient, smtpClient } from './load/front-clients.ts'
import { type Product, startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { atMost, percentile, type Report } from './report.ts'

const SENDS = 80
const ROUNDS = 3
const HOLDS_FROM_MS = 2_000
const TIMES_ALONE = 3
/** Below it the quotient is that of timers and not of doors. */
const ALONE_MS = 10

/** One caller, or many strangers, hold a door. How much slower do the sends of another account get, in the best run? */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  const smtpPort = await freePort()
  await using product = await startProduct(sink, { env: { SMTP_FRONT_PORT: String(smtpPort) } })
  const key = await keyOfAnother(product)
  const victim = () => sendAll({ port: product.port, smtpPort, key: product.key })
  await victim()
  const figures: Report['figures'] = {}
  const bars: Report['bars'] = []
  for (const kind of Object.keys(ATTACKS) as Attack['kind'][]) {
    const quotients: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const alone = Math.max(ALONE_MS, percentile(await victim(), 0.95))
      await using _attacker = await startAttack({ kind, port: product.port, smtpPort, key })
      const beside = percentile(await victim(), 0.95)
      quotients.push(beside / alone)
      console.log(`${kind}: p95 ms alone ${alone.toFixed(1)}, beside the attacker ${beside.toFixed(1)}`)
    }
    figures[`${kind}: p95 relative to alone`] = Math.min(...quotients)
    bars.push(atMost(`${kind}: p95 of another account's sends relative to alone`, Math.min(...quotients), TIMES_ALONE))
  }
  return { figures, bars }
}

/** Half of the sends over REST, half over SMTP; each eighth on a new connection. Returns their milliseconds. */
async function sendAll({ port, smtpPort, key }: Pick<Attack, 'port' | 'smtpPort' | 'key'>): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < SENDS / 8; i++) {
    const beganMs = performance.now()
    await using client = i % 2 === 0 ? restClient({ port, key }) : await smtpClient({ port: smtpPort, key })
    await client.send()
    times.push(performance.now() - beganMs)
    for (let more = 1; more < 8; more++) times.push((await client.send()).ms)
  }
  return times
}

async function keyOfAnother({ databaseUrl }: Product): Promise<string> {
  const db = connect(databaseUrl)
  const clock = await createDatabaseClock(db)
  const { id: accountId } = await createAccount(db, clock, 'Attacker')
  const { key } = await createKey(db, clock, {
    accountId,
    name: 'attack',
    kind: 'test',
    scopes: ['emails.send', 'events.read'],
  })
  clock.stop()
  await db.$client.end()
  return key
}

/** The attacker leaves the processor to the service: the law is about doors, not about one machine for both. */
async function startAttack(attack: Attack): Promise<AsyncDisposable> {
  const file = fileURLToPath(new URL('load/door-attack.ts', import.meta.url))
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const
  const child = spawn('nice', ['-n', '19', process.execPath, file], { stdio: [...stdio] })
  const gone = once(child, 'exit')
  child.send(attack)
  await sleep(HOLDS_FROM_MS)
  return {
    async [Symbol.asyncDispose]() {
      child.kill()
      await gone
    },
  }
}
