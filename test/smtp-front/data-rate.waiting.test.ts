import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { type SmtpClient, stuffed } from './client.ts'
import { letter, startFrontWorld } from './world.ts'

const { api, loggedIn } = await startFrontWorld({}, { ...DEFAULT_LIMITS, defaultTier: 'free' })
const { db, account } = api.world

const LIMIT = DEFAULT_LIMITS.tiers.free!.requestsPerMinute
const ENVELOPE = ['MAIL FROM:<hello@example.test>', 'RCPT TO:<ann@example.net>', 'DATA']

/** What a program does after a DATA that was taken. */
const ENDS = {
  sent: async (client: SmtpClient) => {
    client.write(stuffed(letter()))
    return client.reply()
  },
  refused: async (client: SmtpClient) => {
    client.write(stuffed('From: hello@example.test\r\n \r\n'))
    return client.reply()
  },
  left: async (client: SmtpClient) => {
    client.write('From: hello@example.test\r\n')
    client.destroy()
  },
}

test('each DATA counts once for the tier, whatever becomes of it, and is refused with the seconds when it is over', async () => {
  const end = fc.constantFrom(...(Object.keys(ENDS) as (keyof typeof ENDS)[]))
  await fc.assert(
    fc.asyncProperty(
      fc.array(end, { minLength: 1, maxLength: 10 }),
      fc.integer({ min: 0, max: 12 }),
      async (ends, left) => {
        await setUsed(LIMIT - left)
        for (const [i, one] of ends.entries()) {
          const client = await loggedIn()
          const [, , data] = [
            await client.ask(ENVELOPE[0]!),
            await client.ask(ENVELOPE[1]!),
            await client.ask(ENVELOPE[2]!),
          ]
          expect(await used()).toBe(LIMIT - left + i + 1)
          if (i < left) {
            expect(data).toMatch(/^354/)
            await ENDS[one](client)
            expect(await used()).toBe(LIMIT - left + i + 1)
          } else {
            expect(data).toMatch(/^452 4\.3\.2 .*requests per minute.* Wait \d+ seconds?\./)
            expect(await client.ask('NOOP')).toMatch(/^250/)
          }
          client.end()
        }
      },
    ),
    { numRuns: 15 },
  )
})

async function setUsed(count: number): Promise<void> {
  await db.$client`delete from rate_windows`
  await db.$client`insert into rate_windows (caller, started_at, used) values (${account.id}, now(), ${count})`
}

async function used(): Promise<number> {
  const [row] = await db.$client`select used from rate_windows where caller = ${account.id}`
  return row!.used
}
