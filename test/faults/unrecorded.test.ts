import { expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { keepUnrecorded, lockTable } from './unrecorded.ts'
import { startFaultWorld, type World } from './world.ts'

// As quick/unrecorded.process.test.ts, for longer than a lease.

let world: World

test.each(['messages', 'open_messages'])(
  'a lock of 55 s on %s leaves nothing in doubt, although leases end meanwhile',
  async (table) => {
    world = untilEnd(await startFaultWorld())
    // Another process, whose sweeper looks every five seconds.
    await world.start()
    const { entries } = await keepUnrecorded(world, `55-seconds-${table}`, {
      begin: () => lockTable(world, table),
      ms: 55_000,
      checks: { writes: 'failing (55P03)' },
    })
    // The connections of callers are closed at the lease.
    if (table === 'messages') expect(entries.some(({ status }) => status === undefined)).toBe(true)
  },
)
