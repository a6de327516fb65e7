import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { freePort } from '../dev/ports.ts'
import { cacheFolder } from '../dev/temporal/install-options.ts'
import { temporalProgram } from '../dev/temporal/program.ts'
import { startCluster } from '../test/faults/cluster.ts'
import type { Node } from '../test/faults/node.ts'
import { type Dice, diceFor } from '../test/faults/seed.ts'
import { type Reader, readOverGrpc, readOverRest } from '../test/faults/stream-readers.ts'
import { openTemporalPlace } from '../test/faults/webhooks/temporal.ts'
import type { Worker } from '../test/faults/webhooks/worker.ts'
import { endpointOf, startWebhookWorldAt } from '../test/faults/webhooks/world.ts'
import type { ScriptedResponse } from '../test/harness/receiver.ts'
import type { Script } from '../test/harness/smtp-script.ts'
import type { Doors } from './mailers.ts'

// Two APIs with their ports for mail, a worker, PostgreSQL, Temporal, mail servers that always say 250, two webhook
// endpoints, and two programs that follow the event stream.

export type KillWorld = Awaited<ReturnType<typeof startKillWorld>>

export interface KillOptions {
  /** The clock of the second API is ahead of the others by this time. */
  clocksApartMs: number
  /** The round trip to PostgreSQL. */
  databaseDelayMs: number
}

/** A lease takes ten seconds more. The default would let each run wait for longer. */
export const SEND_BUDGET_MS = 25_000
/** Six attempts: few dispatches are exhausted. */
const SCHEDULE_MS = [0, 300, 600, 1_000, 2_000, 4_000]
const ENDPOINT_FAILS = 0.3

export const APIS = ['api-1', 'api-2'] as const

export async function startKillWorld(options: KillOptions) {
  const program = await temporalProgram({
    report: console.error,
    signal: new AbortController().signal,
    cacheDir: cacheFolder(process.env),
  })
  const [cluster, temporal] = await Promise.all([startCluster(), openTemporalPlace({ program })])
  await logMarkers(cluster.db.$client)
  const run = await startWebhookWorldAt(temporal, {
    database: cluster,
    mail: { 'one.example': {}, 'two.example': slowServer(diceFor('mail server')) },
    scheduleMs: SCHEDULE_MS,
    others: [{}],
    env: { SEND_BUDGET_MS: `${SEND_BUDGET_MS}` },
  })
  run.webhooks.stoppedMs = 0

  /** The log of each process that ever ran, by its name. */
  const outputs = new Map<string, () => string>()
  async function startApi(env: NodeJS.ProcessEnv = {}): Promise<Node> {
    const node = await run.start(env)
    outputs.set(node.name, () => node.api.stdout() + node.api.stderr())
    return node
  }
  async function work(): Promise<Worker> {
    const worker = await run.work()
    outputs.set(worker.name, worker.output)
    return worker
  }
  const doors = { 'api-1': await openDoors(), 'api-2': await openDoors() }
  const clock = options.clocksApartMs === 0 ? {} : clockAhead(options.clocksApartMs)
  const starting = {
    'api-1': () => startApi(portsOf(doors['api-1'])),
    'api-2': () => startApi({ ...portsOf(doors['api-2']), ...clock }),
  }
  const [first, second, worker] = await Promise.all([starting['api-1'](), starting['api-2'](), work()])
  const apis: Record<(typeof APIS)[number], Node> = { 'api-1': first, 'api-2': second }
  const hook = await run.openHook(failing(diceFor('endpoints')))
  await endpointOf(run, run.account.id).put(first.client, hook.url)

  delayBothWays(cluster, options.databaseDelayMs)
  const dice = diceFor('callers')
  /** Callers do not know which process works. */
  const anyNode = (): Node => apis[dice.pick(APIS)]
  const anyDoors = (): Doors => doors[dice.pick(APIS)]
  const parts = { urlOf: () => anyNode().api.url, key: run.account.key }
  const readers: Record<string, Reader> = { gRPC: readOverGrpc(parts), REST: readOverRest(parts) }

  const ofWorker: { current: Worker } = { current: worker }
  async function stop(): Promise<void> {
    await Promise.all(Object.values(readers).map((reader) => reader.stop()))
    await run.stop()
    await rm(cluster.dataDir, { recursive: true, force: true })
  }
  return { ...run, temporal, cluster, apis, starting, work, ofWorker, anyNode, anyDoors, readers, outputs, stop }
}

const openDoors = async (): Promise<Doors> => ({ smtp: await freePort(), lmtp: await freePort() })

const portsOf = ({ smtp, lmtp }: Doors) => ({ SMTP_FRONT_PORT: `${smtp}`, SMTP_FRONT_LMTP_PORT: `${lmtp}` })

/** The database logs each marker that is committed: no crash takes that away. */
async function logMarkers(sql: { unsafe(text: string): Promise<unknown> }): Promise<void> {
  await sql.unsafe(`
    create table seen_markers (message_id uuid, email text, at timestamptz default clock_timestamp());
    create function see_marker() returns trigger language plpgsql as $$
      begin insert into seen_markers (message_id, email) values (new.message_id, new.email); return null; end $$;
    create trigger see_marker after update on open_recipients for each row
      when (new.marked_at is distinct from old.marked_at and new.marked_at is not null) execute function see_marker()`)
}

function delayBothWays({ proxy }: Awaited<ReturnType<typeof startCluster>>, roundTripMs: number): void {
  if (roundTripMs > 0) proxy.onMessage = () => ({ afterMs: roundTripMs / 2, act: 'pass' })
}

/** Always says 250, and takes a while for it. */
function slowServer(dice: Dice): Script {
  const slow = (most: number, reply: string) => () => ({ after: dice.between(0, most), act: reply })
  // Far from half of the ten seconds that a server has before the dot.
  return {
    mail: slow(200, '250 2.1.0 ok'),
    rcpt: slow(800, '250 2.1.5 ok'),
    data: slow(400, '354 go ahead'),
    dot: slow(2_000, '250 2.0.0 queued'),
  }
}

function failing(dice: Dice) {
  const failures: ScriptedResponse[] = [{ status: 503 }, { status: 500 }, { fault: 'reset' }, { fault: 'close' }]
  return () => (dice.chance(ENDPOINT_FAILS) ? dice.pick(failures) : { delayMs: dice.between(0, 100) })
}

/** The environment of a process whose clock is ahead (Debian's `libfaketime`). Its timers are those of the machine. */
function clockAhead(ms: number): NodeJS.ProcessEnv {
  const files = execFileSync('dpkg', ['-L', 'libfaketime'], { encoding: 'utf8' }).split('\n')
  const library = files.find((file) => file.endsWith('/libfaketimeMT.so.1'))
  return { LD_PRELOAD: library, FAKETIME: `+${ms / 1_000}s`, FAKETIME_DONT_FAKE_MONOTONIC: '1' }
}
