import type { DescMethod } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { HEAVY_CALLS } from '../../server/access/heavy-calls.ts'
import { connect } from '../../server/db/connect.ts'
import { one, run } from '../../server/db/statement.ts'
import { dropRules, fill, tablesOf } from '../harness/filled-tables.ts'
import { signIn } from '../harness/person.ts'
import { testDatabase } from '../harness/postgres.ts'
import { words } from '../harness/text.ts'
import { startSendingWorld } from '../sending/world.ts'
import { startApi } from './api.ts'
import { allMethods, nameOf, requestsOf } from './whole-contract.ts'

// What a call reads does not grow with the rows of other accounts. With those of its own it grows only where the calls
// of an account are limited. So no account's rows delay another one.

const { url } = await testDatabase()
/** One session, which counts what it reads. */
const db = connect(url, { connections: 1, statementMs: 0 })
const world = await startSendingWorld({}, { url, db })
const api = await startApi(undefined, undefined, { world })
const { sealer, clock, account } = world
const owner = await signIn({ db, clock, sealer }, { accountId: account.id, role: 'owner' })

async function call(method: string, body: object) {
  const response = await fetch(`${api.url}/${method}`, {
    method: 'POST',
    headers: owner.headers,
    body: JSON.stringify(body),
  })
  return { status: response.status, json: (await response.json()) as { message?: string } }
}

await api.call('PUT', '/api/v1/webhook', { body: { url: 'https://first.example.net/' } })
const { message_id } = (await api.send({ to: 'ann@example.net' })).json
const { endpoint_id } = (await api.call('POST', '/api/v1/webhooks', { body: { url: 'https://hooks.example.net/' } }))
  .json
const { event_id } = (await api.call('GET', `/api/v1/events?message_id=${message_id}`)).json.events[0]
const { domain_id } = (await api.call('GET', '/api/v1/domains')).json.domains[0]
const to = new Date(clock.now()).toISOString()
const from = new Date(clock.now() - 80 * 86_400_000).toISOString()
const REQUESTS = requestsOf({ message_id, event_id, endpoint_id, domain_id, from, to })

/** Methods that need what the account lacks, end what others need, wait for DNS, or cannot show senseless rows. */
const WITHOUT = words(`
  StreamEvents Remove UndoImport CreateEndpoint DeleteEndpoint TestEndpoint DeleteWebhook TestWebhook RotateSecret
  DeleteDomain VerifyDomain RotateDkim ResumeDomain GetReceipt StartImport AddPart CancelImport ListImports ListImportFaults ListInbox
  GetInboxMessage ClearInbox CreateKey RevokeKey SetNotificationUrl TestNotificationUrl InvitePerson
  WithdrawInvitation ChangeRole RemovePerson GetInvitation AcceptInvitation EndSession ConfirmPassword UnlinkIdentity
  GetSignInMethods RequestPasswordReset GetPasswordReset ResetPassword StartReplay GetReplay CancelReplay RetryDispatch
`)

const methods = (await allMethods()).filter(({ name }) => !WITHOUT.includes(name))
const HEAVY = HEAVY_CALLS.flatMap(({ methods }) => methods.map(nameOf))

/** How many pages this session has read. */
async function pagesRead(): Promise<number> {
  await run(db, 'select pg_stat_force_next_flush()')
  const read = `select (blks_hit + blks_read)::float8 as pages from pg_stat_database where datname = current_database()`
  return one(await run<{ pages: number }>(db, read)).pages
}

/** The fewest pages that each call reads: the first time it reads the catalogue, and PostgreSQL may work beside it. */
async function readByCalls(which: readonly DescMethod[]): Promise<Map<string, number>> {
  const pages = new Map<string, number>()
  const refused: string[] = []
  for (const name of which.map(nameOf))
    for (const request of REQUESTS[name] ?? [{}]) {
      const what = `${name} ${JSON.stringify(request)}`
      for (const _ of [1, 2, 3]) {
        const before = await pagesRead()
        const { status, json } = await call(name, request)
        if (status !== 200) refused.push(`${what}: ${json.message}`)
        pages.set(what, Math.min(pages.get(what) ?? Infinity, (await pagesRead()) - before))
      }
    }
  expect(refused).toEqual([])
  return pages
}

const ROWS = 20_000
/** A fraction of the pages of these rows, and more than a call reads by chance. */
const CHANCE = 150

/** Why an account has few rows of a table. */
const FEW_OF_ONE: Record<string, string> = {
  api_keys: 'at most 1,000',
  dkim_keys: 'those of its domains',
  domains: 'at most 1,000',
  invitations: 'at most 50 a day',
  members: 'its people',
  notification_choices: 'one for each member',
  open_stats: 'all are taken every few seconds, and those of others too',
  warm_ups: 'one for each domain and day of warm-up',
  webhook_endpoints: 'at most 10',
}

/** The calls that read more than they did before, with the pages. */
const grown = (few: Map<string, number>, much: Map<string, number>) =>
  [...much].filter(([what, pages]) => pages > 2 * few.get(what)! + CHANCE)

await dropRules(db)
const tables = await tablesOf(db, 'account_id')

test('no call reads more when other accounts have 20,000 more rows in each table', async () => {
  const few = await readByCalls(methods)
  for (const table of tables.filter((table) => table !== 'open_stats'))
    for (const which of [1, 2])
      await fill(db, table, {
        rows: ROWS / 2,
        isWhole: which === 1,
        account: `lpad(to_hex(i / 10), 32, '${which}')::uuid`,
      })
  expect(grown(few, await readByCalls(methods))).toEqual([])
})

test('no call whose number is not limited reads more when its account has 20,000 more rows in each table', async () => {
  const light = methods.filter((method) => !HEAVY.includes(nameOf(method)))
  const few = await readByCalls(light)
  for (const table of tables.filter((table) => !FEW_OF_ONE[table]))
    for (const isWhole of [false, true])
      await fill(db, table, { rows: ROWS / 2, isWhole, account: `'${account.id}'::uuid` })
  expect(grown(few, await readByCalls(light))).toEqual([])
})
