import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { createKey } from '../../server/access/api-keys.ts'
import { SCOPES_OF } from '../../server/access/scopes.ts'
import { schedule } from '../../server/config/values.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { type Client, createClient } from '../../test/faults/client.ts'
import { startMailServer } from '../../test/faults/mail-servers.ts'
import { openRows, takeSnapshot } from '../../test/faults/snapshot.ts'
import { startHook } from '../../test/faults/webhooks/receivers.ts'
import type { Logs } from '../../test/reliability/logs.ts'
import { reconcile } from '../../test/reliability/reconcile.ts'
import { sealerOf } from './endpoints.ts'
import type { Product } from './product.ts'
import { until } from './until.ts'

const DOMAIN = 'soak.test'
const PER_SECOND = 5
/**
 * One letter in this number is sent to a mailbox that is full. With more of them the breaker of the domain would open.
 */
const ONE_FULL_IN = 200

/**
 * Sends of a separate account, which their callers, their mail server and their webhook receiver write down. The
 * logs are reconciled as those of a fault run. A process is named by its port.
 */
export async function startReconciled() {
  const logs: Logs = { requests: [], mail: { rcptAddresses: [], dots: [] }, database: [], processes: [] }
  const mailServer = await startMailServer(logs.mail)
  const webhooks = { scheduleMs: [] as number[], posts: [], endpoints: [], replays: [] }
  logs.webhooks = webhooks
  const hook = await startHook(webhooks.posts)
  const clients = new Map<number, Client>()
  let account = { id: '', key: '' }

  function clientOf(port: number): Client {
    const parts = { node: String(port), url: `http://127.0.0.1:${port}`, key: account.key, domain: DOMAIN }
    const client = clients.get(port) ?? createClient(parts, logs.requests)
    clients.set(port, client)
    return client
  }

  return {
    mailServer,
    async open(product: Product, delays: string): Promise<void> {
      account = await openAccount(product)
      webhooks.scheduleMs = [...schedule(delays)]
      const sentMs = Date.now()
      const { status, body } = await clientOf(product.port).request('PUT', '/api/v1/webhook', { url: hook.url })
      if (status !== 200) throw new Error(JSON.stringify(body))
      const { secret } = body as { secret: string }
      const respondedMs = Date.now()
      Object.assign(webhooks, { endpoints: [{ account: account.id, url: hook.url, secret, sentMs, respondedMs }] })
    },
    /** Sends at a pace, to the processes in turn. */
    send(ports: () => number[]): { stop(): Promise<unknown> } {
      const running: Promise<unknown>[] = []
      let number = 0
      const timer = setInterval(() => {
        const request = `soak-${++number}`
        const to = [`${number % ONE_FULL_IN === 0 ? 'full' : 'ann'}.${number}@others.test`]
        const port = ports()[number % ports().length]!
        running.push(clientOf(port).send({ request, to, text: 'All is well.\n'.repeat(300) }))
      }, 1_000 / PER_SECOND)
      return {
        stop() {
          clearInterval(timer)
          return Promise.all(running)
        },
      }
    },
    note(port: number, event: 'killed'): void {
      logs.processes.push({ node: String(port), atMs: performance.now(), event })
    },
    /** Reconciles when nothing is open any more. Returns the number of violations and prints one of each kind. */
    async verdict({ databaseUrl, port }: Product): Promise<number> {
      const sql = postgres(databaseUrl, { max: 1 })
      await until('no send is open', async () => (await openRows(sql, account.id)).length === 0)
      logs.database.push(await takeSnapshot(sql, account.id))
      for (const entry of logs.requests.filter(({ status }) => status === 200)) {
        const { message_id } = entry.body as { message_id: string }
        entry.readBack = await clientOf(port).get(`/api/v1/emails/${message_id}`)
      }
      await sleep(1_000)
      logs.database.push(await takeSnapshot(sql, account.id))
      await sql.end()
      const violations = reconcile(logs)
      console.log(`${logs.requests.length} sends reconciled with ${logs.webhooks!.posts.length} POSTs`)
      for (const [what, [first]] of Map.groupBy(violations, ({ what }) => what)) {
        console.log(`${what}\n${JSON.stringify(first!.evidence, null, 2)}`)
      }
      return violations.length
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients.values()) client.close()
      await Promise.all([mailServer.close(), hook.close()])
    },
  }
}

async function openAccount(product: Product): Promise<{ id: string; key: string }> {
  const db = connect(product.databaseUrl, { connections: 1 })
  const clock = await createDatabaseClock(db)
  const { id } = await createAccount(db, clock, 'Soak')
  const { key } = await createKey(db, clock, { accountId: id, name: 'soak', kind: 'live', scopes: SCOPES_OF.live })
  const sealer = sealerOf(product)
  await createDomain({ db, sealer, clock }, { accountId: id, name: DOMAIN, status: 'verified', warmsUp: false })
  clock.stop()
  await db.$client.end()
  return { id, key }
}
