import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { longestCallMs } from '../server/config/limits.ts'
import { publicId } from '../server/db/ids.ts'
import { isLost } from '../server/db/outage.ts'
import { OUR_FAULT } from '../server/ledger/rows.ts'
import { tally } from '../test/faults/load.ts'
import { SEED } from '../test/faults/seed.ts'
import { openRows } from '../test/faults/snapshot.ts'
import { pauseFor, within } from '../test/harness/waits.ts'
import type { ClientEntry, Logs } from '../test/reliability/logs.ts'
import { startCallers } from './callers.ts'
import { type Evidence, type Offence, offences } from './law.ts'
import { type Mailing, openOf, startMailers } from './mailers.ts'
import { type Kill, type KillLog, killAtRandom } from './victims.ts'
import { type KillOptions, type KillWorld, SEND_BUDGET_MS, startKillWorld } from './world.ts'

// One part of `npm run kills`, with the seed of FAULT_SEED: its own world, its kills, and the law.
// `node kills/part.ts <result file> <kills> <options as JSON>`

/** What a part counted. */
export type Counts = Record<string, number>

export interface PartResult {
  kills: number
  counts: Counts
  offences: number
}

/** The pool has fewer sessions. */
const CONNECT_TRIES = 20
/** How many offenders of each kind are printed. */
const SHOWN = 3
/** How many lines about each. */
const LINES = 25
/** The law's minute after the last kill. */
const OPEN_MS = 60_000
/** Then readers and endpoints get what has ended, */
const CAUGHT_UP_MS = 60_000
/** and callers repeat it. A batch whose process was killed keeps its key as long as a batch may take. */
const REPEATED_MS = longestCallMs(SEND_BUDGET_MS)

// A session of this program that a kill closes between two statements rejects a promise without a handler. The next
// statement opens another session.
process.on('unhandledRejection', (error) => {
  if (!isLost(error)) throw error
  console.log(`A session of the run: ${error}`)
})

async function runPart(kills: number, options: KillOptions): Promise<PartResult> {
  const startedAtMs = performance.now()
  const world = await startKillWorld(options)
  const startedMs = performance.now() - startedAtMs
  const log: KillLog = { kills: [], failedStarts: [] }
  const callers = startCallers(world.anyNode)
  const mailers = startMailers(world.anyDoors, world.account.key)
  await killAtRandom(world, kills, log)
  const killedMs = performance.now() - startedAtMs
  const stopping = Promise.all([callers.stop(), mailers.stop()])
  const settled = await settle(world, stopping)
  nameMessages(settled.logs)
  const { mailings } = mailers
  const unanswered = [...callers.pending, ...mailings.flatMap(openOf)]
  const evidence = { ...settled, mailings, failedStarts: log.failedStarts, unanswered }
  const found = offences(evidence)
  const counts = countsOf(world, evidence, log)
  const seconds = (ms: number) => Math.round(ms / 1_000)
  console.log(
    `seed ${SEED}: ${kills} kills;`,
    Object.entries(counts)
      .map(([what, count]) => `${what} ${count}`)
      .join(', '),
    `; ${seconds(startedMs)} s to start, ${seconds(killedMs - startedMs)} s of kills, ${seconds(performance.now() - startedAtMs - killedMs)} s to settle`,
  )
  if (found.length > 0) report(found, world, evidence, log.kills)
  await within(30_000, world.stop(), undefined)
  return { kills, counts, offences: found.length }
}

async function settle(world: KillWorld, callers: Promise<unknown>) {
  const { sql, logs, readers, account } = world
  await onceConnected(() => world.snapshot())
  const openUntilMs = performance.now() + OPEN_MS
  const readOpen = () => onceConnected(() => openRows(sql))
  let open = await readOpen()
  for (; open.length > 0 && performance.now() < openUntilMs; open = await readOpen()) await pauseFor(200)
  await within(REPEATED_MS, callers, undefined)
  await onceConnected(() => world.waitUntilSettled())
  const rows = await onceConnected(
    () => sql<{ id: string }[]>`select id from events where account_id = ${account.id} order by stream_order, id`,
  )
  const committed = rows.map(({ id }) => publicId('evt', id))
  const caughtUpMs = performance.now() + CAUGHT_UP_MS
  const areBehind = () => Object.values(readers).some(({ received }) => received.length < committed.length)
  while (areBehind() && performance.now() < caughtUpMs) await pauseFor(100)
  await readBack(world)
  await onceConnected(() => world.snapshot())
  const marked = await onceConnected(
    () => sql<{ message_id: string; email: string }[]>`select distinct message_id, email from seen_markers`,
  )
  const markers = marked.map(({ message_id, email }) => ({ message: publicId('msg', message_id), email }))
  return { logs, markers, open, committed, readers }
}

/** A session that was open before a kill may be found closed by its next statement. */
async function onceConnected<T>(read: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (error) {
      if (tries === CONNECT_TRIES) throw error
      console.log(`Reading the database: ${error}`)
      await pauseFor(200)
    }
  }
}

/** Get email of every message that a response named. */
async function readBack({ logs, apis }: KillWorld): Promise<void> {
  const { client } = apis['api-1']
  const entries = logs.requests.filter(({ status }) => status === 200)
  const byMessage = Map.groupBy(entries, ({ body }) => (body as { message_id: string }).message_id)
  for (const [message, tries] of byMessage) {
    const response = await client.get(`/api/v1/emails/${message}`)
    const readBack: ClientEntry['readBack'] = { status: response.status, body: response.body }
    for (const entry of tries) entry.readBack = readBack
  }
}

/** A mail keeps the Message-ID of its program. Its dots belong to the message that was sent to their recipients. */
function nameMessages({ mail, database }: Logs): void {
  const sent = database.at(-1)!.recipients.filter(({ status, inDoubt }) => status === 'delivered' || inDoubt)
  const messages = new Map(sent.map(({ email, message }) => [email, message]))
  for (const dot of mail.dots)
    if (!dot.message.startsWith('msg_')) dot.message = messages.get(dot.to[0]!) ?? dot.message
}

function countsOf(
  { logs, ofWorker: _, ...world }: KillWorld,
  { markers, mailings }: { markers: unknown[]; mailings: Mailing[] },
  log: KillLog,
): Counts {
  const last = logs.database.at(-1)!
  const count = <T>(rows: readonly T[], is: (row: T) => boolean) => rows.filter(is).length
  const { dispatches = [] } = last.webhooks ?? {}
  return {
    requests: logs.requests.length,
    ...Object.fromEntries(Object.entries(tally(logs.requests)).map(([how, times]) => [`(${how})`, times])),
    mails: mailings.length,
    messages: last.messages.length,
    recipients: last.recipients.length,
    delivered: count(last.recipients, ({ status }) => status === 'delivered'),
    'in doubt': count(last.recipients, ({ inDoubt }) => inDoubt),
    'faults of ours': count(last.recipients, ({ detail }) => detail?.startsWith(OUR_FAULT) ?? false),
    markers: markers.length,
    dots: logs.mail.dots.length,
    events: last.events.length,
    dispatches: dispatches.length,
    acknowledged: count(dispatches, ({ state }) => state === 'acknowledged'),
    posts: world.webhooks.posts.length,
    'failed starts': log.failedStarts.length,
  }
}

/** Prints each kind with its first offenders, and keeps all logs for who looks into it. */
function report(found: Offence[], { logs, outputs }: KillWorld, evidence: Evidence, kills: Kill[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'verdict-kills-'))
  const at = (file: string) => join(folder, file)
  writeFileSync(at('logs.json'), JSON.stringify(logs))
  writeFileSync(at('evidence.json'), JSON.stringify({ ...evidence, logs: undefined }))
  writeFileSync(at('offences.json'), JSON.stringify(found, null, 1))
  writeFileSync(at('kills.txt'), kills.map(lineOf).join('\n'))
  mkdirSync(at('processes'))
  for (const [name, output] of outputs) writeFileSync(at(`processes/${name}.log`), output())
  for (const [what, all] of Map.groupBy(found, ({ what }) => what)) {
    console.log(`\n${what}: ${all.length}`)
    for (const { evidence } of all.slice(0, SHOWN)) {
      console.log(JSON.stringify(evidence, null, 1))
      for (const line of around(evidence, logs, kills)) console.log(`  ${line}`)
    }
  }
  console.log(`\nLogs of callers, servers, processes and the database: ${folder}\n`)
}

/** What the callers of an offender saw, and what was killed meanwhile. */
function around(evidence: unknown, logs: Logs, kills: Kill[]): string[] {
  const text = JSON.stringify(evidence)
  const [, id] = /"(?:message|message_id|id)":"(msg_\w+)"/.exec(text) ?? []
  const [, named] = /"request":"([^"]+)"/.exec(text) ?? []
  const request = named ?? logs.database.at(-1)!.messages.find((row) => row.id === id)?.request
  const entries = logs.requests.filter((entry) => entry.request === request)
  if (entries.length === 0) return []
  const clock = (ms: number) => performance.timeOrigin + ms
  const fromMs = clock(Math.min(...entries.map(({ sentAtMs }) => sentAtMs)))
  const toMs = clock(Math.max(...entries.map(({ sentAtMs, endedAtMs }) => endedAtMs ?? sentAtMs + OPEN_MS)))
  const during = kills.filter(({ atMs, backMs = Number.POSITIVE_INFINITY }) => atMs <= toMs && fromMs <= backMs + 2_000)
  const time = (ms: number) => new Date(clock(ms)).toISOString()
  const wasHeard = ({ status, sentAtMs, endedAtMs = Number.POSITIVE_INFINITY }: ClientEntry) =>
    status !== undefined || endedAtMs - sentAtMs > 500
  return [
    ...entries
      .filter(wasHeard)
      .map(
        ({ node, sentAtMs, endedAtMs, status, lost, body }) =>
          `${time(sentAtMs)} sent to ${node}: ${status ?? lost} at ${endedAtMs && time(endedAtMs)} ${JSON.stringify(body)}`,
      ),
    ...logs.mail.dots
      .filter((dot) => dot.request === request)
      .map(({ atMs, to, reply }) => `${time(atMs)} dot for ${to.join(', ')}: ${reply}`),
    ...during.map(lineOf),
  ]
    .sort()
    .slice(0, LINES)
}

const lineOf = ({ n, what, atMs, backMs }: Kill) =>
  `${new Date(atMs).toISOString()} kill ${n}, ${what}, back at ${backMs ? new Date(backMs).toISOString() : 'no time'}`

const [resultFile, kills, options] = process.argv.slice(2)
writeFileSync(resultFile!, JSON.stringify(await runPart(Number(kills), JSON.parse(options!))))
process.exit()
