import type { JsonObject } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { behalfNow } from '../../server/async/on-behalf.ts'
import { listAccounts } from '../../server/directory/accounts.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { outlast } from '../harness/waits.ts'
import { startApi } from './api.ts'
import { probesOf } from './probes.ts'

// What callers share is work of the service, although one of them needs it first. Otherwise it waits for that caller's
// connections (server/db/connection-shares.ts), and so do all others.

const api = await startApi()
const { db, sealer, clock, account } = api.world
const stranger = (await listAccounts(db)).find(({ name }) => name === 'Stranger')!
await createDomain(
  { db, sealer, clock },
  { accountId: stranger.id, name: 'stranger.test', status: 'verified', warmsUp: false },
)
const CALLERS = [
  { accountId: account.id, key: api.keys.live, domain: 'example.test' },
  { accountId: stranger.id, key: api.keys.stranger, domain: 'stranger.test' },
]

interface Statement {
  caller: string
  text: string
}

/** Notes every statement outside of transactions that begins on behalf of a caller, with its parameters. */
function noteStatements(): Statement[] {
  const statements: Statement[] = []
  const { unsafe } = db.$client
  const noting: typeof unsafe = (...parts) => {
    const behalf = behalfNow()
    if (behalf) statements.push({ caller: behalf.caller, text: JSON.stringify(parts.slice(0, 2)) })
    return unsafe(...parts)
  }
  db.$client.unsafe = noting
  return statements
}

/** Every operation of the contract with each of its probes, for one caller, in the same order. */
async function requestsOf({ key, domain }: (typeof CALLERS)[number]) {
  const send = { from: `hello@${domain}`, to: 'delivered@simulator.test' }
  const { message_id } = (await api.send(send, {}, key)).json
  const { json } = await api.call('GET', '/api/v1/events', { key })
  const domains = (await api.call('GET', '/api/v1/domains', { key })).json
  const endpoint = await api.call('PUT', '/api/v1/webhook', { key, body: { url: `https://${domain}/hook` } })
  const probes = probesOf(
    () => message_id,
    () => json.events[0].event_id,
    () => domains.domains[0].domain_id,
    () => endpoint.json.endpoint_id,
  )
  return Object.entries(probes).flatMap(([operation, ofOperation]) => {
    const some = ofOperation.map(({ request, theirs, headers }) => ({
      body: ownOf(request(theirs('REST')), domain),
      headers: headers?.(theirs('REST')),
    }))
    return (some.length > 0 ? some : [{ body: {}, headers: undefined }]).map((request) => ({
      operation,
      key,
      ...request,
    }))
  })
}

const ownOf = (body: JsonObject, domain: string): JsonObject =>
  JSON.parse(
    JSON.stringify(body).replaceAll('stranger.test', domain).replaceAll('zoe@example.net', 'delivered@simulator.test'),
  )

async function call({ operation, key, body, headers }: Awaited<ReturnType<typeof requestsOf>>[number]) {
  const [verb, template] = operation.split(' ') as [string, string]
  const rest = { ...body }
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = String(rest[name] ?? 'none')
    delete rest[name]
    return encodeURIComponent(value)
  })
  const hasBody = verb !== 'GET' && verb !== 'DELETE'
  const query = new URLSearchParams(rest as Record<string, string>)
  return api.call(verb, hasBody ? path : `${path}?${query}`, { key, headers, body: hasBody ? rest : undefined })
}

test('no statement on behalf of an account is about another one, and none begins when its calls have ended', async () => {
  const requests = await Promise.all(CALLERS.map(requestsOf))
  const statements = noteStatements()
  const statuses = new Set<number>()
  for (const [i, request] of requests[0]!.entries()) {
    // Several at a time: their rows share statements.
    const same = Array.from({ length: 4 }, () => [request, requests[1]![i]!]).flat()
    for (const { status } of await Promise.all(same.map(call))) statuses.add(status)
  }
  expect(statuses).toContain(200)
  expect(statements.length).toBeGreaterThan(500)
  for (const { accountId } of CALLERS) {
    const others = statements.filter(({ caller }) => caller !== accountId)
    expect(others.filter(({ text }) => text.includes(accountId)).map(({ text }) => text.slice(0, 300))).toEqual([])
  }
  await api.idle()
  statements.length = 0
  // Longer than anything gathers or keeps what calls have left.
  await outlast(12_000)
  expect(statements).toEqual([])
})
