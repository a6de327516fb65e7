import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { Database } from '../../server/db/connect.ts'
import { publicId } from '../../server/db/ids.ts'
import { openAccount } from '../harness/account.ts'
import { startDns } from '../harness/dns.ts'
import { testDatabase } from '../harness/postgres.ts'
import type { Script } from '../harness/smtp-script.ts'
import { pauseFor } from '../harness/waits.ts'
import type { ClientEntry, Logs } from '../reliability/logs.ts'
import { reconcile } from '../reliability/reconcile.ts'
import type { Violation } from '../reliability/statements.ts'
import { startMailServer } from './mail-servers.ts'
import { type Node, startNode } from './node.ts'
import { SEED } from './seed.ts'
import { endLeases, openRows, takeSnapshot } from './snapshot.ts'

export type World = Awaited<ReturnType<typeof startFaultWorld>>

export interface WorldOptions {
  /** The domains that accept mail, and the scripts of their servers. A server also has the domain `also.<domain>`. */
  mail?: Record<string, Script>
  env?: NodeJS.ProcessEnv
  /** The content of TIERS_FILE. */
  limits?: object
  database?: { url: string; db: Database; drop?(): Promise<void> }
  /** Creates the account. Another release creates it in its own tables. */
  openAccount?: typeof openAccount
}

/** Without the warm-up and the circuit breaker, since these runs send hundreds of letters and every fourth bounces. */
const WITHOUT_LIMITS = { warmup: [], breaker: { min_emails: 1_000_000 } }

/** How long the sweeper may take after leases expire: its interval, plus time for a slow machine. */
const SWEEP_TIMEOUT_MS = 15_000

/**
 * Starts a database with an account, a key and the verified domain `example.test`, the mail servers of `one.example`
 * and `two.example`, and a DNS server without other names. A test starts as many API processes as it needs. All of them
 * write to `logs`.
 */
export async function startFaultWorld(options: WorldOptions = {}) {
  const { mail = { 'one.example': {}, 'two.example': {} }, env, openAccount: open = openAccount } = options
  console.log(`FAULT_SEED=${SEED}`)
  const logs: Logs = { requests: [], mail: { rcptAddresses: [], dots: [] }, database: [], processes: [] }
  const database: NonNullable<WorldOptions['database']> = options.database ?? (await testDatabase())
  const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
  const openAccountFor = (domain: string) => open(database.db, ENCRYPTION_KEYS, domain)
  const account = await openAccountFor('example.test')
  const folder = await mkdtemp(join(tmpdir(), 'verdict-faults-'))
  const tiersFile = join(folder, 'tiers.json')
  await writeFile(tiersFile, JSON.stringify(options.limits ?? WITHOUT_LIMITS))
  const sql = postgres(database.url, { max: 2, onnotice: () => {} })
  const dns = await startDns()
  const servers = new Map<string, Awaited<ReturnType<typeof startMailServer>>>()
  for (const [domain, script] of Object.entries(mail)) servers.set(domain, await startMailServer(logs.mail, script))
  const nodes = new Set<Node>()

  const parts = {
    sql,
    logs,
    key: account.key,
    databaseUrl: database.url,
    mailPorts: new Map([...servers].map(([domain, { port }]) => [domain, port])),
    env: { ENCRYPTION_KEYS, DNS_SERVERS: dns.address, TIERS_FILE: tiersFile, ...env },
  }
  let names = 0
  async function start(more: NodeJS.ProcessEnv = {}): Promise<Node> {
    const node = await startNode(`node-${++names}`, { ...parts, env: { ...parts.env, ...more } })
    nodes.add(node)
    node.api.ended.then(() => nodes.delete(node))
    return node
  }

  async function snapshot(): Promise<void> {
    logs.database.push(await takeSnapshot(sql))
  }

  /**
   * Waits for the sweeper of a running process, and for `waitUntilSettled`. Then it reads the messages of all responses
   * back and reconciles. Returns the violations, none when all is well. It prints violations and keeps the logs in a
   * file for `node test/reliability/reconcile.ts`.
   */
  async function verdict(waitUntilSettled?: () => Promise<void>): Promise<string[]> {
    const [node = await start()] = nodes
    await snapshot()
    // No caller waits any more. What is still open waits for its lease to expire and for the sweeper.
    if (logs.requests.length > 0) await endLeases(sql, { requests: logs.requests.map(({ request }) => request) })
    const deadline = performance.now() + SWEEP_TIMEOUT_MS
    while ((await openRows(sql)).length > 0 && performance.now() < deadline) await pauseFor(50)
    await waitUntilSettled?.()
    const readBacks = new Map<string, ClientEntry['readBack']>()
    const foreignRows = await sql`select id from messages where account_id <> ${account.id}`
    const foreignIds = new Set(foreignRows.map(({ id }) => publicId('msg', id)))
    for (const entry of logs.requests.filter(({ status, readBack }) => status === 200 && !readBack)) {
      const { message_id } = entry.body as { message_id: string }
      if (foreignIds.has(message_id)) continue
      if (!readBacks.has(message_id)) readBacks.set(message_id, await readBack(node, message_id))
      entry.readBack = readBacks.get(message_id)
    }
    await snapshot()
    const violations = Map.groupBy(reconcile(logs), ({ statement, what }) => `statement ${statement}: ${what}`)
    if (violations.size > 0) await report(logs, violations)
    return Array.from(violations, ([what, { length }]) => `${what}, ${length} times`)
  }

  async function stop(): Promise<void> {
    for (const { api, client, wire } of nodes) {
      await api.kill('SIGKILL')
      client.close()
      await wire.close()
    }
    for (const server of servers.values()) await server.close()
    await Promise.all([dns.close(), sql.end()])
    await database.drop?.()
    await rm(folder, { recursive: true })
  }

  const resources = { account, openAccount: openAccountFor, env: parts.env, logs, sql, database, dns, servers, nodes }
  return { ...resources, start, snapshot, verdict, stop }
}

async function readBack(node: Node, message: string) {
  const { status, body } = await node.client.get(`/api/v1/emails/${message}`)
  return { status, body }
}

/** Prints one violation of each kind, and where the logs are. */
async function report(logs: Logs, violations: Map<string, Violation[]>): Promise<void> {
  const file = join(await mkdtemp(join(tmpdir(), 'verdict-faults-')), 'logs.json')
  await writeFile(file, JSON.stringify(logs))
  for (const [what, [first]] of violations) console.log(`${what}\n${JSON.stringify(first!.evidence, null, 2)}`)
  console.log(`FAULT_SEED=${SEED} node test/reliability/reconcile.ts ${file}`)
}
