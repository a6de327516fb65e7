import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { WatchedEngine } from '../../../mail/smtp/attempt.ts'
import { createLocalPlaces } from '../../../mail/smtp/local-places.ts'
import type { OpenSitePlaces, SiteLoad } from '../../../mail/smtp/site-places.ts'
import type { Act, Script } from '../../harness/smtp-script.ts'
import { deliveryTo, exchangerWith, siteOf, watchedEngineWith } from './deliver.ts'

// The law of counts: whatever a server does, the places of a site know what is open there. A connection that is
// counted for ever takes a place from all accounts; one that is not counted exceeds the site's limit.

const act = (...acts: Act[]) => fc.option(fc.constantFrom(...acts), { nil: undefined, freq: 2 })
const SLOW = { after: 30, act: '250 2.1.5 ok' }
const scripts: fc.Arbitrary<Script> = fc.record({
  greeting: act('421 4.3.2 busy', '554 5.7.1 no', 'close', { after: 30, act: '220 mx.test' }),
  mail: act('421 4.7.0 too many', '451 4.3.0 later', '503 5.5.1 bad sequence', SLOW),
  rcpt: act('452 4.5.3 too many recipients', '550 5.1.1 unknown', '451 4.7.1 greylisted', 'close', SLOW),
  content: act('close', 'reset'),
  dot: act('451 4.3.0 later', '550 5.7.1 spam', { after: 30, act: '250 2.0.0 queued' }),
  rset: act('close', '500 5.5.1 what'),
  quit: act('close', { after: 30, act: '221 bye' }),
})
/** Messages that are sent at the same time, each with this many recipients. */
const rounds = fc.array(
  fc.record({ script: scripts, messages: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 8 }) }),
  {
    minLength: 1,
    maxLength: 3,
  },
)

test('the places of a site know the connections that are open, and nothing is left in the end', async () => {
  const seed = Number(process.env.FAULT_SEED ?? Date.now() % 1e6)
  await fc.assert(fc.asyncProperty(rounds, fc.integer({ min: 1, max: 4 }), keepsCount), {
    numRuns: 40,
    seed,
    endOnFailure: true,
  })
})

async function keepsCount(rounds: { script: Script; messages: number[] }[], connections: number): Promise<void> {
  const exchanger = await exchangerWith()
  const told: Told = { load: NOTHING, using: 0, faults: [] }
  const shape = { limits: { connections, messages: 3 }, isOwnSite: false }
  const engine = watchedEngineWith({
    openPlaces: watchedPlaces(told, connections),
    shapeOf: () => shape,
    limits: { idleMs: 60_000, commandMs: 500, spreadMs: 20 },
  })
  const site = siteOf(exchanger)
  const openThere = () => exchanger.sessions.filter(({ closed }) => !closed).length
  for (const { script, messages } of rounds) {
    exchanger.script = script
    await Promise.all(
      messages.map((count) => {
        const recipients = Array.from({ length: count }, (_, i) => ({ address: `user${i}@example.test`, site }))
        return engine.deliver(deliveryTo(site, { recipients, budgetMs: 4_000 }))
      }),
    )
    // The server sees the end of a connection before or after the engine does.
    await expect
      .poll(() => ({ ...told.load, ...engine.load(), openThere: openThere() }), { interval: 5 })
      .toSatisfy(isSettled)
  }
  engine.close()
  await expect.poll(openThere, { interval: 5 }).toBe(0)
  await expect.poll(() => told.using, { interval: 5 }).toBe(0)
  expect(told.faults).toEqual([])
  expect(engine.load()).toEqual({ inUse: 0, waiting: 0, idle: 0, late: 0 })
  await exchanger.close()
}

const isSettled = (now: SiteLoad & ReturnType<WatchedEngine['load']> & { openThere: number }) =>
  now.inUse + now.waiting + now.late === 0 &&
  [now.open, now.accepted, now.wanted, now.openThere].every((count) => count === now.idle)

const NOTHING: SiteLoad = { open: 0, accepted: 0, wanted: 0 }

interface Told {
  load: SiteLoad
  /** Sites whose places are not given back. */
  using: number
  /** What cannot be. */
  faults: SiteLoad[]
}

function watchedPlaces(told: Told, connections: number): OpenSitePlaces {
  const openPlaces = createLocalPlaces()
  return (site, onChange) => {
    const places = openPlaces(site, onChange)
    told.using++
    return {
      ...places,
      need(load) {
        const { open, accepted, wanted } = load
        if (!(0 <= accepted && accepted <= open && open <= wanted && open <= connections)) told.faults.push(load)
        told.load = load
        places.need(load)
      },
      leave() {
        told.using--
        told.load = NOTHING
        places.leave()
      },
    }
  }
}
