import { expect, test } from 'vitest'
import { run } from '../../../server/db/statement.ts'
import { ASSIGNED, CANCEL_ORPHANS, UNASSIGNED } from '../../../server/webhooks/queue/hand-over.ts'
import { CLAIM_OVERDUE } from '../../../server/webhooks/queue/revive.ts'
import { testDatabase } from '../../harness/postgres.ts'

// What a pass of the worker reads grows with what it does, and with the endpoints for which dispatches wait, but not
// with the dispatches. Otherwise one account's backlog delays the webhooks of all.

const { db } = await testDatabase()

/** The statements of a pass, without the one that looks for lost leases: no index on the way of a send shows these. */
const STATEMENTS: Record<string, [statement: string, parameters: number[]]> = {
  CANCEL_ORPHANS: [CANCEL_ORPHANS, []],
  UNASSIGNED: [UNASSIGNED, [100]],
  CLAIM_OVERDUE: [CLAIM_OVERDUE, [120_000]],
  ASSIGNED: [ASSIGNED, []],
}

const WORKFLOW = `'original-' || endpoint || '-' || i / 5000`
/** Dispatches that wait for a workflow, those of workflows that wait for their next attempt, or are overdue. */
const STATES = {
  'without a workflow': { hours: -1, workflow: 'null' },
  'with workflows': { hours: 1, workflow: WORKFLOW },
  'with workflows that were looked for': { hours: -1, workflow: WORKFLOW, looked: 'now()' },
}
type State = keyof typeof STATES

async function seed(rows: number, endpoints: number, state: State): Promise<void> {
  const { hours, workflow, looked = 'null' }: { hours: number; workflow: string; looked?: string } = STATES[state]
  await run(db, 'truncate open_dispatches, webhook_endpoints')
  await run(
    db,
    `insert into accounts (id, name) select md5('a' || i)::uuid, 'A' from generate_series(1, ${endpoints}) i
     on conflict do nothing`,
  )
  await run(
    db,
    `insert into webhook_endpoints (id, account_id, url, secret)
     select md5('e' || i)::uuid, md5('a' || i)::uuid, 'https://hooks.example.net', '' from generate_series(1, ${endpoints}) i`,
  )
  await run(
    db,
    `insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, attempt, due_at,
       deadline_at, workflow_id, looked_at, handed_over_at)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), md5('a' || endpoint)::uuid, md5('e' || endpoint)::uuid,
       'original', now(), 2, now() + interval '${hours} hours' + i * interval '1 ms', now() + interval '20 hours', ${workflow}, ${looked},
       case when ${workflow} is not null then now() end
     from (select i, i % ${endpoints} + 1 as endpoint from generate_series(1, ${rows}) i) as numbered`,
  )
  await run(db, 'analyze open_dispatches')
}

/** The pages that a statement reads. */
async function pagesOf([statement, parameters]: [string, number[]]): Promise<number> {
  const rows = await run<{ 'QUERY PLAN': string }>(db, `explain (analyze, buffers) ${statement}`, parameters)
  const [, hit, read = '0'] = /Buffers: shared hit=(\d+)(?: read=(\d+))?/.exec(
    rows.map((row) => row['QUERY PLAN']).join(),
  )!
  return Number(hit) + Number(read)
}

const CASES = Object.keys(STATES).flatMap((state) => [1, 50].map((endpoints) => [state as State, endpoints] as const))

test.each(CASES)('ten times as many dispatches %s, of %i endpoints, cost a pass no more', async (state, endpoints) => {
  const pagesOfAll = async (rows: number) => {
    await seed(rows, endpoints, state)
    const pages: [string, number][] = []
    for (const [name, statement] of Object.entries(STATEMENTS)) pages.push([name, await pagesOf(statement)])
    return pages
  }
  const few = new Map(await pagesOfAll(3_000))
  for (const [name, many] of await pagesOfAll(30_000)) expect(many, name).toBeLessThan(2 * few.get(name)! + 200)
})
