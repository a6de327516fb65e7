import { expect, test } from 'vitest'
import { HEAVY_CALLS } from '../../server/access/heavy-calls.ts'
import { connect } from '../../server/db/connect.ts'
import { run } from '../../server/db/statement.ts'
import { signIn } from '../harness/person.ts'
import { readStatements } from '../harness/postgres-wire.ts'
import { proxiedDatabase } from '../harness/proxied-database.ts'
import { untilEnd } from '../harness/until-end.ts'
import { startSendingWorld } from '../sending/world.ts'
import { startApi } from './api.ts'
import { nameOf, requestsOf } from './whole-contract.ts'

// A heavy call holds one connection of the database at a time, so the number of such calls bounds the connections that
// one account's lists, counts and statistics keep from sends.

const { database, proxy, url } = await proxiedDatabase()

/** The statements that run now, by connection, and the most of them at a time. */
const running = new Map<number, string>()
let most: string[] = []
const read = readStatements()
/** Each statement takes a moment, so that those that run beside each other are seen. */
const SLOW = { afterMs: 5, act: 'pass' } as const
proxy.onMessage = (message) => {
  const { starts, ends } = read(message)
  if (ends.length > 0) running.delete(message.connection)
  if (starts[0] !== undefined) running.set(message.connection, starts[0].trim().slice(0, 300))
  if (running.size > most.length) most = [...running.values()]
  return message.direction === 'up' ? SLOW : 'pass'
}

const db = connect(url.href)
untilEnd({ stop: () => db.$client.end({ timeout: 1 }) })
const world = await startSendingWorld({}, { url: database.url, db })
const api = await startApi(undefined, undefined, { world })
const { sealer, clock, account } = world
const owner = await signIn({ db, clock, sealer }, { accountId: account.id, role: 'owner' })

await api.call('PUT', '/api/v1/webhook', { body: { url: 'https://first.example.net/' } })
const { message_id } = (await api.send({ to: 'ann@example.net' })).json
const { endpoint_id } = (await api.call('POST', '/api/v1/webhooks', { body: { url: 'https://two.example.net/' } })).json
const { event_id } = (await api.call('GET', `/api/v1/events?message_id=${message_id}`)).json.events[0]
const { domain_id } = (await api.call('GET', '/api/v1/domains')).json.domains[0]
const to = new Date(clock.now()).toISOString()
const from = new Date(clock.now() - 80 * 86_400_000).toISOString()
const REQUESTS = requestsOf({ message_id, event_id, endpoint_id, domain_id, from, to })
for (const filter of [{ from, to }, { to }]) await call('verdict.admin.v1.ReplayService/StartReplay', { filter })
// Two whose dispatches are counted at each look.
await run(db, 'update range_replays set dispatched = 1')

async function call(method: string, request: object): Promise<void> {
  const response = await fetch(`${api.url}/${method}`, {
    method: 'POST',
    headers: owner.headers,
    body: JSON.stringify(request),
  })
  await response.arrayBuffer()
}

const METHODS = HEAVY_CALLS.flatMap(({ methods }) => methods.map(nameOf))

/** The statements that a call runs at a time, the fewest of three: upkeep may run one beside it. */
async function statementsOf(method: string, request: object): Promise<string[]> {
  const seen: string[][] = []
  for (const _ of [1, 2, 3]) {
    most = []
    await call(method, request)
    seen.push(most)
  }
  return seen.toSorted((a, b) => a.length - b.length)[0]!
}

test.each(METHODS)('%s holds one connection at a time', async (method) => {
  for (const request of REQUESTS[method] ?? [{}]) {
    await call(method, request)
    const statements = await statementsOf(method, request)
    expect(statements, JSON.stringify(request)).toEqual(statements.slice(0, 1))
  }
})
