import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startExchanger } from '../harness/exchanger.ts'
import { temporaryFolder, untilEnd } from '../harness/until-end.ts'
import { startInstance } from './instance.ts'

// The address that a mail server sees: of the pool that is bound to the account's tier, or to the domain.

const POOLS = {
  accounts: { addresses: ['127.0.0.11', '127.0.0.12'] },
  domains: { addresses: ['127.0.0.21'] },
  far: { addresses: ['192.0.2.1'] },
}

const exchanger = untilEnd(await startExchanger())
const folder = temporaryFolder()
writeFileSync(
  join(folder, 'limits.json'),
  JSON.stringify({ tiers: { pooled: { requests_per_minute: 600, pool: 'accounts' } }, pools: POOLS, warmup: [] }),
)
const instance = await startInstance({
  TIERS_FILE: join(folder, 'limits.json'),
  SMTP_SOURCE_ADDRESSES: '127.0.0.1',
  SMTP_ROUTES: `example.net=127.0.0.1:${exchanger.port}`,
})

let count = 0

/** The source address of a new message, or the error of its send. */
async function sourceOfSend(): Promise<string> {
  const to = `u${++count}@example.net`
  const response = await instance.send({ to })
  const body = (await response.json()) as { status?: string; error?: string; message?: string }
  if (body.status !== 'delivered') return `${body.error}: ${body.message}`
  return exchanger.sessions.find(({ commands }) => commands.some((line) => line.includes(`<${to}>`)))!.from
}

const eventually = (source: string) => expect.poll(sourceOfSend, { timeout: 10_000, interval: 200 }).toBe(source)

async function bindDomain(pool: string): Promise<void> {
  const { domains } = (await (await instance.get('/api/v1/domains')).json()) as { domains: { domain_id: string }[] }
  const response = await fetch(`${instance.api.url}/api/v1/domains/${domains[0]!.domain_id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${instance.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ pool }),
  })
  expect(response.status).toBe(200)
}

test('without a pool mail leaves from SMTP_SOURCE_ADDRESSES', async () => {
  expect(await sourceOfSend()).toBe('127.0.0.1')
})

test('a pool of the tier decides for all domains of the account, whichever connections were open before', async () => {
  await instance.database.db.$client`update accounts set tier = 'pooled'`
  await expect.poll(sourceOfSend, { timeout: 10_000, interval: 200 }).toMatch(/^127\.0\.0\.1[12]$/)
  const sources = new Set<string>()
  for (let i = 0; i < 20; i++) sources.add(await sourceOfSend())
  expect([...sources].toSorted()).toEqual(POOLS.accounts.addresses)
})

test('the pool of the domain wins', async () => {
  await bindDomain('domains')
  await eventually('127.0.0.21')
  for (let i = 0; i < 5; i++) expect(await sourceOfSend()).toBe('127.0.0.21')
})

test('from a pool without an address of this machine nothing leaves', async () => {
  await bindDomain('far')
  await expect
    .poll(sourceOfSend, { timeout: 10_000, interval: 200 })
    .toMatch(/^transient_failure: This machine has no address of the pool far/)
  const before = exchanger.messages.length
  expect(await sourceOfSend()).toMatch(/^transient_failure/)
  expect(exchanger.messages).toHaveLength(before)
})
