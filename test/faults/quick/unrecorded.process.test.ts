import { expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { keepUnrecorded, lockTable } from '../unrecorded.ts'
import { startFaultWorld, type World } from '../world.ts'

// Statement 32: what cannot be recorded is not mailed, and what a living process knows is recorded in the end.

let world: World

test('while history is locked for 20 s no mail goes out, and every outcome is stored after it', async () => {
  world = untilEnd(await startFaultWorld())
  const { entries } = await keepUnrecorded(world, 'locked', {
    begin: () => lockTable(world, 'messages'),
    ms: 20_000,
    checks: { writes: 'failing (55P03)', record: expect.stringMatching(/^waiting for \d+ s$/) },
  })
  // No connection was closed: the lock was shorter than a lease.
  expect(entries.filter(({ status }) => status === undefined)).toEqual([])
})

const REFUSE = `
  create function refuse_row() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
  create trigger refuse_row before insert on messages for each row execute function refuse_row()`

// In the order of an insert, the table before its partitions: the drop alone would take them the other way round.
const ALLOW = `
  lock table messages in access exclusive mode;
  drop function refuse_row cascade`

test('while a trigger refuses every record no mail goes out, and every outcome is stored after it', async () => {
  world = untilEnd(await startFaultWorld())
  await keepUnrecorded(world, 'refused', {
    async begin() {
      await world.sql.unsafe(REFUSE)
      return () => world.sql.unsafe(ALLOW)
    },
    ms: 10_000,
    checks: { writes: 'failing (P0001)', record: expect.stringMatching(/^waiting for \d+ s$/) },
  })
})
