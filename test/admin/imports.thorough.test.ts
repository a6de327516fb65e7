import { createServiceImplSpec } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { type Import, ImportService, ImportState } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { SuppressionReason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { createImportService } from '../../server/admin/imports.ts'
import { asc, eq, sql } from '../../server/db/drizzle.ts'
import { removeExpired } from '../../server/db/expiry.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { auditEntries, importFaults, rangeReplays, suppressionImports } from '../../server/db/people-schema.ts'
import { suppressions } from '../../server/db/schema.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { testAccount } from '../harness/account.ts'
import { startDashboard } from '../harness/person.ts'

// Imports of files into the suppression list, part by part.

const world = await testAccount()
const service = createImportService(world)
const services = [createServiceImplSpec<typeof ImportService>(ImportService, service)]
const dashboard = await startDashboard({ ...world, services })

async function account() {
  const { id } = await createAccount(world.db, world.clock, 'Test')
  const person = await dashboard.person({ accountId: id })
  return { id, person, imports: person.client(ImportService) }
}

let files = 0
const file = (lines = 10) => ({ fileName: 'list.csv', lines, digest: (++files).toString(16).padStart(64, '0') })
const part = ({ importId }: Import, part: number, emails: string[], more = {}) => ({
  importId,
  part,
  firstLine: part * 10 + 1,
  emails,
  last: false,
  ...more,
})
const idOf = (started?: Import) => ({ importId: started!.importId })
const listed = async (accountId: string) =>
  (
    await world.db
      .select()
      .from(suppressions)
      .where(eq(suppressions.accountId, accountId))
      .orderBy(asc(suppressions.email))
  ).map(({ email, reason, tenantId }) => `${email} ${reason}${tenantId && ` ${tenantId}`}`)

test('each line may have its reason, and a repeated address has that of its first line', async () => {
  const { id, imports } = await account()
  const { import: started } = await imports.startImport(file(3))
  const { BOUNCE, COMPLAINT, MANUAL } = SuppressionReason
  const emails = ['ann@x.example', 'bob@x.example', 'Ann@X.example']
  await imports.addPart(part(started!, 0, emails, { reasons: [BOUNCE, COMPLAINT, MANUAL], last: true }))
  expect(await listed(id)).toEqual(['ann@x.example bounce', 'bob@x.example complaint'])
  const { import: next } = await imports.startImport(file(2))
  for (const reasons of [[BOUNCE], [BOUNCE, 0]]) {
    await expect(imports.addPart(part(next!, 0, ['cy@x.example', 'dee@x.example'], { reasons }))).rejects.toThrow(
      'reasons',
    )
  }
})

test('a file is imported part by part, with its faults by line', async () => {
  const { id, imports, person } = await account()
  const { import: started } = await imports.startImport(file(14))
  expect(started).toMatchObject({ state: ImportState.RUNNING, lines: 14, nextPart: 0, createdBy: person.email })
  const first = [
    'Ann@Example.com',
    '',
    'nobody',
    ' bob@bücher.example ',
    'ann@example.com',
    '\u202Ex@y',
    '',
    '',
    '',
    '',
  ]
  expect((await imports.addPart(part(started!, 0, first))).import).toMatchObject({
    ...{ state: ImportState.RUNNING, linesDone: 10, nextPart: 1, imported: 2, alreadySuppressed: 1, invalid: 2 },
  })
  const last = part(started!, 1, ['bob@xn--bcher-kva.example', 'x'.repeat(400), 'cy@example.com', ''], { last: true })
  const { import: finished } = await imports.addPart(last)
  expect(finished).toMatchObject({
    ...{ state: ImportState.FINISHED, linesDone: 14, nextPart: 2, imported: 3, alreadySuppressed: 2, invalid: 3 },
  })
  expect(finished!.endedAt).toBeDefined()
  expect(await listed(id)).toEqual([
    'ann@example.com import',
    'bob@xn--bcher-kva.example import',
    'cy@example.com import',
  ])
  const { faults, hasMore } = await imports.listImportFaults({ importId: started!.importId })
  expect([faults.map(({ line, text }) => [line, text]), hasMore]).toEqual([
    [
      [3, 'nobody'],
      [6, '\uFFFDx@y'],
      [12, 'x'.repeat(320)],
    ],
    false,
  ])
  expect(new Set(faults.map(({ message }) => message))).toEqual(new Set(['is not an email address']))
  const after = await imports.listImportFaults({ importId: started!.importId, afterLine: 3 })
  expect(after.faults.map(({ line }) => line)).toEqual([6, 12])
  expect((await imports.listImports({})).imports).toEqual([finished])
})

test('a part that is repeated changes nothing, and gets the same response', async () => {
  const { id, imports } = await account()
  const { import: started } = await imports.startImport(file())
  const request = part(started!, 0, ['ann@example.com', 'nobody'], { last: true })
  const responses = await Promise.all([request, request, request].map((each) => imports.addPart(each)))
  expect(responses[1]).toEqual(responses[0])
  expect(responses[2]).toEqual(responses[0])
  expect(await imports.addPart(request)).toEqual(responses[0])
  expect(responses[0]!.import).toMatchObject({ imported: 1, alreadySuppressed: 0, invalid: 1 })
  expect(await listed(id)).toHaveLength(1)
})

test('a file with the same digest continues its import; after its end it starts another', async () => {
  const { imports } = await account()
  const same = file()
  const { import: started } = await imports.startImport(same)
  const both = await Promise.all([imports.startImport(same), imports.startImport({ ...same, fileName: 'copy.csv' })])
  expect(both.map((other) => other.import!.importId)).toEqual([started!.importId, started!.importId])
  expect((await imports.startImport({ ...same, tenantId: 'acme' })).import!.importId).not.toBe(started!.importId)
  const { import: added } = await imports.addPart(part(started!, 0, ['ann@example.com']))
  expect((await imports.startImport(same)).import).toEqual(added)
  await imports.cancelImport(idOf(started))
  expect((await imports.startImport(same)).import).toMatchObject({ nextPart: 0, imported: 0 })
})

test('an import with a tenant adds to the list of that tenant', async () => {
  const { id, imports } = await account()
  const { import: started } = await imports.startImport({ ...file(), tenantId: 'acme' })
  expect(started!.tenantId).toBe('acme')
  await imports.addPart(part(started!, 0, ['ann@example.com'], { last: true }))
  expect(await listed(id)).toEqual(['ann@example.com import acme'])
})

test('a cancelled import takes no more parts and keeps what it has added', async () => {
  const { id, imports } = await account()
  const { import: started } = await imports.startImport(file(30))
  const first = part(started!, 0, ['ann@example.com'])
  await imports.addPart(first)
  const { import: cancelled } = await imports.cancelImport(idOf(started))
  expect(cancelled).toMatchObject({ state: ImportState.CANCELLED, imported: 1, endedAt: expect.anything() })
  await expect(imports.addPart(part(started!, 1, ['bob@example.com']))).rejects.toThrow(
    '[failed_precondition] The import has ended: it is cancelled.',
  )
  expect((await imports.addPart(first)).import).toEqual(cancelled)
  expect((await imports.cancelImport(idOf(started))).import).toEqual(cancelled)
  expect(await listed(id)).toHaveLength(1)
})

test('what an import cannot take is refused, with the field', async () => {
  const { imports } = await account()
  const starts: [object, string][] = [
    [{ fileName: '' }, 'file_name must have 1 to 255 characters'],
    [{ fileName: 'x'.repeat(256) }, 'file_name must have 1 to 255 characters'],
    [{ lines: 0 }, 'lines must be 1 to 1,000,000'],
    [{ lines: 1_000_001 }, 'lines must be 1 to 1,000,000'],
    [{ digest: 'abc' }, 'digest must be the SHA-256 of the file: 64 hex digits'],
    [{ tenantId: '' }, 'tenant_id '],
  ]
  for (const [change, message] of starts) {
    await expect(imports.startImport({ ...file(), ...change })).rejects.toThrow(`[invalid_argument] ${message}`)
  }
  const { import: started } = await imports.startImport(file(20))
  const ten = Array.from({ length: 10 }, (_, i) => `a${i}@example.com`)
  await imports.addPart(part(started!, 0, ten))
  const parts: [object, string][] = [
    [part(started!, 2, ten), 'part must be 1: that part is expected next'],
    [part(started!, 1, []), 'emails holds 0 lines; a part has 1 to 10,000'],
    [part(started!, 1, Array(10_001).fill('')), 'emails holds 10001 lines; a part has 1 to 10,000'],
    [part(started!, 1, ten, { firstLine: 10 }), 'first_line must be 11 or more: the lines before are done'],
    [part(started!, 1, ten, { firstLine: 0 }), 'first_line must be 11 or more: the lines before are done'],
    [part(started!, 1, ten, { firstLine: 12 }), 'emails go beyond the 20 lines of the file'],
  ]
  for (const [request, message] of parts) {
    await expect(imports.addPart(request as ReturnType<typeof part>)).rejects.toThrow(`[invalid_argument] ${message}`)
  }
  expect((await imports.listImports({})).imports[0]).toMatchObject({ nextPart: 1, linesDone: 10, imported: 10 })
})

test('an import of another account does not exist', async () => {
  const [mine, other] = [await account(), await account()]
  const { import: started } = await mine.imports.startImport(file())
  for (const importId of [started!.importId, publicId('imp', newId(0)), 'imp_x']) {
    const message = `[not_found] There is no import "${importId}" in this account.`
    await expect(other.imports.addPart({ ...part(started!, 0, ['a@b.example']), importId })).rejects.toThrow(message)
    await expect(other.imports.cancelImport({ importId })).rejects.toThrow(message)
    await expect(other.imports.listImportFaults({ importId })).rejects.toThrow(message)
  }
  expect((await other.imports.listImports({})).imports).toEqual([])
})

test('the audit log has the start and the end of an import, with its counts', async () => {
  const { id, imports, person } = await account()
  const { import: started } = await imports.startImport(file())
  await imports.addPart(part(started!, 0, ['ann@example.com', 'nobody'], { last: true }))
  const entries = await world.db
    .select()
    .from(auditEntries)
    .where(eq(auditEntries.accountId, id))
    .orderBy(asc(auditEntries.id))
  expect(entries.filter(({ action }) => action === 'suppression.import')).toMatchObject([
    { actorName: person.email, target: 'list.csv', after: { state: 'running', lines: 10 } },
    { before: { state: 'running' }, after: { state: 'finished', imported: 1, invalid: 1 } },
  ])
})

test('imports with their faults, and replays, are deleted 90 days after their end, or after their start without one', async () => {
  const { id, imports } = await account()
  const [old, young] = [await imports.startImport(file()), await imports.startImport(file())]
  for (const { import: each } of [old, young]) await imports.addPart(part(each!, 0, ['nobody'], { last: true }))
  const days = (count: number) => sql<Date>`now() - ${count} * interval '1 day'`
  const isOld = eq(suppressionImports.digest, Buffer.from((files - 1).toString(16).padStart(64, '0'), 'hex'))
  await world.db
    .update(suppressionImports)
    .set({ endedAt: days(91) })
    .where(isOld)
  for (const [state, age] of [
    ['finished', 91],
    ['finished', 89],
    ['running', null],
  ] as const) {
    const ids = { id: newId(world.clock.now()), doneUntil: newId(0), accountId: id }
    const row = { ...ids, filter: {}, perSecond: 1, total: 0, createdBy: 'ann@example.com', createdAt: days(91) }
    await world.db.insert(rangeReplays).values({ ...row, state, endedAt: age === null ? null : days(age) })
  }
  await removeExpired(world.db)
  expect((await imports.listImports({})).imports).toHaveLength(1)
  expect((await imports.listImportFaults(idOf(young.import))).faults).toHaveLength(1)
  const left = await world.db.select({ id: importFaults.importId }).from(importFaults)
  const kept = await world.db.select({ id: suppressionImports.id }).from(suppressionImports)
  expect(left.every(({ id }) => kept.some((row) => row.id === id))).toBe(true)
  expect(await world.db.$count(rangeReplays, eq(rangeReplays.accountId, id))).toBe(1)
})
