import { beforeAll, expect, test } from 'vitest'
import { type Exchanger, startExchanger } from '../harness/exchanger.ts'
import { untilEnd } from '../harness/until-end.ts'
import { mailboxConfiguration, startExim } from './exim.ts'
import { type ServerWorld, startServerWorld } from './mail-world.ts'

// Servers that make strangers wait. A send has 30 s.

const ADDRESSES = { exim: '127.0.0.51', mox: '127.0.0.52' }
const USERS = ['anna', 'bob', 'cid']

let world: ServerWorld<{ exim: { stop(): Promise<void> }; mox: { stop(): Promise<void> } }>
/** Imitates mox, which cannot be installed from a registry: it waits 15 s for each recipient before it takes a mail. */
let mox: Exchanger

beforeAll(async () => {
  world = await startServerWorld({
    recipients: Object.entries(ADDRESSES)
      .flatMap(([name, address]) => [`mx.${name} A ${address}`, `${name} MX 10 mx.${name}`])
      .join('\n'),
    servers: {
      exim: (place) => {
        const setup = { domains: ['exim.example.net'], users: USERS, acl: '  warn delay = 12s' }
        return startExim({ address: ADDRESSES.exim, configuration: mailboxConfiguration(place, setup) }, place)
      },
      mox: async ({ port }) => {
        const script = { dot: () => ({ after: 15_000 * mox.messages.at(-1)!.to.length, act: '250 2.0.0 it is done' }) }
        mox = untilEnd(await startExchanger(script, { port }, ADDRESSES.mox))
        return { stop: () => mox.close() }
      },
    },
  })
})

async function outcomesOf(to: string[]) {
  const { body } = await world.product.send({ to })
  return (body.recipients ?? [body]).map(
    ({ status, in_doubt, smtp }: { status: string; in_doubt?: boolean; smtp: object }) =>
      status === 'delivered' || in_doubt ? status : smtp,
  )
}

test.concurrent('an Exim that waits 12 s before each reply to RCPT gets a message, and then one to three recipients', async () => {
  expect(await outcomesOf(['anna@exim.example.net'])).toEqual(['delivered'])
  // It is known by then that each recipient needs its own transaction.
  expect(await outcomesOf(USERS.map((user) => `${user}@exim.example.net`))).toEqual(USERS.map(() => 'delivered'))
  for (const user of USERS) await expect.poll(() => world.mailboxes.count(user)).toBe(user === 'anna' ? 2 : 1)
})

test.concurrent('a server that waits 15 s for each recipient after the dot gets a transaction for each, once that is known', async () => {
  expect(await outcomesOf(['anna@mox.example.net'])).toEqual(['delivered'])
  expect(await outcomesOf(['anna@mox.example.net', 'bob@mox.example.net'])).toEqual(['delivered', 'delivered'])
  expect(mox.messages.map(({ to }) => to.length)).toEqual([1, 1, 1])
})
