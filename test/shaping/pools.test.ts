import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { isOwn } from '../../server/config/source-addresses.ts'
import { hostsOfDomain } from '../../server/domains/sending-pool.ts'
import { ADDRESS_STEPS, createAddressWarmUp } from '../../server/shaping/address-warm-up.ts'
import { createPoolSources } from '../../server/shaping/sources.ts'
import { testDatabase } from '../harness/postgres.ts'

const database = await testDatabase()

const warmUp = () => createAddressWarmUp(database.db)
const pool = (addresses: string[]) => ({ addresses, warmsUp: false })

test('a process uses those addresses of a pool that its machine has, and none where it has none', async () => {
  const pools = { main: pool(['127.0.0.7', '192.0.2.1']), far: pool(['192.0.2.1']) }
  const sources = createPoolSources({ pools: () => pools, isOwn, warmUp: warmUp() })
  expect(await sources('main')).toEqual({ addresses: ['127.0.0.7'] })
  await expect(sources('far')).rejects.toThrow('This machine has no address of the pool far')
  await expect(sources('gone')).rejects.toThrow('The pool gone of this domain is not configured')
  await expect(sources('toString')).rejects.toThrow('is not configured')
})

test('over all processes an address sends no more than the emails of its day to a provider', async () => {
  const processes = [warmUp(), warmUp(), warmUp()]
  let sent = 0
  for (let i = 0; i < ADDRESS_STEPS[0]! * 2; i++) {
    const address = await processes[i % 3]!.choose(['192.0.2.9'], 'google.com', 1)
    if (address) sent++
  }
  expect(sent).toBeLessThanOrEqual(ADDRESS_STEPS[0]!)
  expect(sent).toBeGreaterThan(ADDRESS_STEPS[0]! * 0.8)
  expect(await processes[0]!.choose(['192.0.2.9'], 'yahoodns.net', 50)).toBe('192.0.2.9')
  expect(await processes[0]!.choose(['192.0.2.10', '192.0.2.9'], 'google.com', 1)).toBe('192.0.2.10')
})

test('a new day has the emails of its step, and after the last step there is no limit', async () => {
  const began = async (address: string, daysAgo: number) => {
    await warmUp().choose([address], 'icloud.com', 1)
    const days = database.db
      .$client`update address_warm_ups set started_on = started_on - ${daysAgo}::int, day = day - 1
      where address = ${address}`
    await days
  }
  await began('192.0.2.20', 1)
  expect(await warmUp().choose(['192.0.2.20'], 'icloud.com', ADDRESS_STEPS[1]!)).toBe('192.0.2.20')
  expect(await warmUp().choose(['192.0.2.20'], 'icloud.com', 1)).toBeUndefined()
  await began('192.0.2.21', ADDRESS_STEPS.length)
  expect(await warmUp().choose(['192.0.2.21'], 'icloud.com', 10_000_000)).toBe('192.0.2.21')
})

test('SPF of a domain names the addresses of its pool, else of the pool of its tier', () => {
  const limits = {
    tiers: { ...DEFAULT_LIMITS.tiers, pro: { requestsPerMinute: 1, pool: 'main' } },
    defaultTier: 'free',
    pools: { main: pool(['9.9.9.1']), other: pool(['9.9.9.2']), inner: pool(['10.0.0.1', '9.9.9.3']) },
  }
  const hosts = { sourceAddresses: ['9.9.9.9'], limits }
  const addressesOf = (pool: string | null, tier: string | null) => hostsOfDomain({ pool, tier }, hosts).sourceAddresses
  expect(addressesOf(null, null)).toEqual(['9.9.9.9'])
  expect(addressesOf(null, 'pro')).toEqual(['9.9.9.1'])
  expect(addressesOf('other', 'pro')).toEqual(['9.9.9.2'])
  // Others see the public address in place of a private one.
  expect(addressesOf('inner', null)).toEqual(['9.9.9.3', '9.9.9.9'])
})
