import { expect, test } from 'vitest'
import { createHashingSlots } from '../../../server/access/people/hashing-slots.ts'

const FLOODS: [name: string, address: (i: number) => string][] = [
  ['six addresses', (i) => `192.0.2.${i % 6}`],
  ['many networks of one /56', (i) => `2001:db8:1:${(0x100 + i).toString(16)}::1`],
  ['many networks of one /48', (i) => `2001:db8:2:${(i * 256).toString(16)}::1`],
]

/** Keeps who got a slot and who was refused, in order. */
function world() {
  const slots = createHashingSlots({ slots: 2, maxWaiting: 50, waitMs: 600_000 })
  const held: [name: string, release: () => void][] = []
  const refused: string[] = []
  return {
    held,
    refused,
    ask: async (name: string, address: string) => {
      const release = await slots.acquire(address)
      if (release) held.push([name, release])
      else refused.push(name)
    },
    /** Ends the hash that began first, and waits until the next one begins. */
    async end() {
      held.shift()![1]()
      await new Promise(setImmediate)
    },
  }
}

test.each(FLOODS)(
  'while %s wait in all places, another network is not refused and has its turn soon',
  async (_, address) => {
    const { held, refused, ask, end } = world()
    for (let i = 0; i < 120; i++) void ask('flood', address(i))
    await new Promise(setImmediate)
    expect(refused).toHaveLength(68)
    const others = Array.from({ length: 10 }, (_, i) => `other ${i}`)
    for (const [i, name] of others.entries()) void ask(name, `198.51.100.${i}`)
    await new Promise(setImmediate)
    expect([refused.length, new Set(refused)]).toEqual([78, new Set(['flood'])])
    const begun: string[] = []
    // A turn for each network: the ten and at most six of the flood. The two that hold the slots come on top.
    for (let turn = 0; turn < 18; turn++) {
      begun.push(held[0]![0])
      await end()
    }
    expect(others.filter((name) => !begun.includes(name))).toEqual([])
  },
)

test('a network that has not the most places is not refused, and one that waits for too long is', async () => {
  const slots = createHashingSlots({ slots: 1, maxWaiting: 1, waitMs: 20 })
  const release = await slots.acquire('192.0.2.1')
  const waiting = slots.acquire('192.0.2.1')
  expect(await slots.acquire('192.0.2.1')).toBeUndefined()
  expect(await waiting).toBeUndefined()
  release!()
  expect(await slots.acquire('192.0.2.1')).toBeDefined()
})
