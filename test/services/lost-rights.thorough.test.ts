import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { TransactionSql } from 'postgres'
import { expect, test } from 'vitest'
import { ImportService } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { KeyService } from '../../gen/verdict/admin/v1/keys_pb.ts'
import { Access, Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { PeopleService } from '../../gen/verdict/admin/v1/people_pb.ts'
import { ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { createKey } from '../../server/access/api-keys.ts'
import { ruleOf } from '../../server/access/people/access.ts'
import { SCOPES_OF } from '../../server/access/scopes.ts'
import { publicId } from '../../server/db/ids.ts'
import { breakers } from '../../server/db/schema.ts'
import { type SignedIn, signIn } from '../harness/person.ts'
import { startApi } from './api.ts'
import { everyRow } from './every-row.ts'
import { nameOf, servedMethods } from './held-calls.ts'

// A right that is taken away between the last check of a call and its commit. Another transaction takes it away, and
// commits only when the call waits for it: every change must wait, see the loss, and do nothing.

const api = await startApi()
const person = () => {
  const { db, clock, sealer, account } = api.world
  return signIn({ db, clock, sealer }, { accountId: account.id })
}

/** Whether a method may change something: what every reader may call reads. */
const isForChanges = (method: DescMethod) =>
  ruleOf(method).access !== Access.OPEN && ruleOf(method).access !== Access.READER

/** Methods that readers may not call, and that change no people, keys, endpoints, domains or lists. */
const MAKES_NO_CHANGE: Record<string, string> = {
  'verdict.v1.EmailService/Send': 'sends',
  'verdict.v1.EmailService/SendBatch': 'sends',
  'verdict.v1.EmailService/Validate': 'checks a message',
  'verdict.v1.EventService/ReplayEvent': 'dispatches an event again',
  'verdict.v1.EventService/ReplayMessage': 'dispatches events again',
  'verdict.v1.WebhookService/TestWebhook': 'posts a test to the endpoint',
  'verdict.v1.WebhookService/TestEndpoint': 'posts a test to the endpoint',
  'verdict.v1.DomainService/VerifyDomain': 'checks DNS, as the worker does',
  'verdict.admin.v1.NotificationService/TestNotificationUrl': 'posts a test to the URL',
  'verdict.admin.v1.ReplayService/RetryDispatch': 'asks a workflow to make its next attempt',
  'verdict.admin.v1.AuditService/ListAuditEntries': 'reads',
  'verdict.admin.v1.KeyService/ListKeys': 'reads',
  'verdict.admin.v1.PeopleService/ListPeople': 'reads',
  'verdict.admin.v1.PersonService/GetPerson': 'reads',
  'verdict.admin.v1.PersonService/ListSessions': 'reads',
  'verdict.admin.v1.PersonService/ConfirmPassword': 'changes the session that it is called with',
}

const methods = await servedMethods(api.url)
const changes = methods.filter((method) => isForChanges(method) && !(nameOf(method) in MAKES_NO_CHANGE))
const requests = await requestsOf(await person())

/** A valid request for each change, which would succeed with the right. */
async function requestsOf({ client, personId, sessionId }: SignedIn): Promise<Record<string, JsonObject>> {
  const { keys, people, imports, replays } = {
    keys: client(KeyService, api.url),
    people: client(PeopleService, api.url),
    imports: client(ImportService, api.url),
    replays: client(ReplayService, api.url),
  }
  const webhook = { url: 'https://hooks.example.net/verdict' }
  const { endpoint_id } = (await api.call('PUT', '/api/v1/webhook', { body: webhook })).json
  await api.call('POST', '/api/v1/suppression', { body: { email: 'listed@example.net' } })
  await api.call('POST', '/api/v1/suppression', { body: { email: 'bounced@example.net', reason: 'bounce' } })
  const imported = await api.call('POST', '/api/v1/suppression/import', { body: { emails: ['imported@example.net'] } })
  const [domain] = (await api.call('GET', '/api/v1/domains')).json.domains
  const counts = { baseEmails: 0, baseBounces: 0, baseComplaints: 0 }
  const paused = { state: 'open', cause: 'bounces', changedAt: new Date(), ...counts } as const
  await api.world.db.insert(breakers).values({ accountId: api.world.account.id, domain: domain.domain, ...paused })
  const { apiKey } = await keys.createKey({ name: 'shop', scopes: ['emails.send'] })
  const { invitation } = await people.invitePerson({ email: 'bob@people.test', role: Role.READER })
  const file = { fileName: 'list.csv', lines: 1, digest: 'ab'.repeat(32) }
  const { import: started } = await imports.startImport(file)
  const from = timestampFromMs(Math.floor(api.world.clock.now()) - 60_000)
  const { replay } = await replays.startReplay({ filter: { from } })
  const { importId } = started!
  const id = { id: domain.domain_id }
  return {
    'verdict.v1.WebhookService/PutWebhook': { url: 'https://stolen.example.net/' },
    'verdict.v1.WebhookService/CreateEndpoint': { url: 'https://stolen.example.net/second' },
    'verdict.v1.WebhookService/UpdateEndpoint': { endpoint_id, url: 'https://stolen.example.net/' },
    'verdict.v1.WebhookService/DeleteEndpoint': { endpoint_id },
    'verdict.v1.WebhookService/RotateEndpointSecret': { endpoint_id },
    'verdict.v1.WebhookService/DeleteWebhook': {},
    'verdict.v1.WebhookService/RotateSecret': {},
    'verdict.v1.DomainService/CreateDomain': { domain: 'new.example.net' },
    'verdict.v1.DomainService/UpdateDomain': { ...id, require_tls: true },
    'verdict.v1.DomainService/DeleteDomain': id,
    'verdict.v1.DomainService/RotateDkim': id,
    'verdict.v1.SuppressionService/Import': { emails: ['new@example.net'] },
    'verdict.v1.SuppressionService/UndoImport': { import_id: imported.json.import_id },
    'verdict.v1.SuppressionService/Add': { email: 'new@example.net' },
    'verdict.v1.SuppressionService/Remove': { email: 'listed@example.net' },
    'verdict.v1.SuppressionService/Lift': {
      created_from: '2020-01-01T00:00:00Z',
      created_to: '2100-01-01T00:00:00Z',
    },
    'verdict.admin.v1.DomainService/ResumeDomain': { domainId: domain.domain_id, reason: 'mended' },
    'verdict.admin.v1.AccountService/RenameAccount': { name: 'Renamed' },
    'verdict.admin.v1.NotificationService/SetNotificationUrl': { url: 'https://hooks.example.net/chat' },
    'verdict.admin.v1.NotificationService/RemoveNotificationUrl': {},
    'verdict.admin.v1.PersonService/ChangeName': { name: 'Renamed' },
    'verdict.admin.v1.PersonService/UnlinkIdentity': { issuer: 'https://issuer.example.net' },
    'verdict.admin.v1.KeyService/CreateKey': { name: 'mine', scopes: ['emails.send'] },
    'verdict.admin.v1.KeyService/RevokeKey': { keyId: apiKey!.keyId },
    'verdict.admin.v1.PeopleService/InvitePerson': { email: 'eve@people.test', role: 'ROLE_OWNER' },
    'verdict.admin.v1.PeopleService/WithdrawInvitation': { invitationId: invitation!.invitationId },
    'verdict.admin.v1.PeopleService/ChangeRole': { personId: publicId('per', personId), role: 'ROLE_READER' },
    'verdict.admin.v1.PeopleService/RemovePerson': { personId: publicId('per', personId) },
    // The session of another person: it is not found when the right is not checked.
    'verdict.admin.v1.PersonService/EndSession': { sessionId: publicId('ses', sessionId) },
    'verdict.admin.v1.ImportService/StartImport': { ...file, digest: 'cd'.repeat(32) },
    'verdict.admin.v1.ImportService/AddPart': { importId, firstLine: 1, emails: ['new@example.net'], last: true },
    'verdict.admin.v1.ImportService/CancelImport': { importId },
    'verdict.admin.v1.ReplayService/StartReplay': { filter: { from: new Date(api.world.clock.now()).toISOString() } },
    'verdict.admin.v1.ReplayService/CancelReplay': { replayId: replay!.replayId },
  }
}

/** Calls a method over Connect. Returns the HTTP status and the message of an error. */
async function call(method: DescMethod, headers: Record<string, string>): Promise<string> {
  const body = JSON.stringify(requests[nameOf(method)])
  const type = { 'content-type': 'application/json', 'connect-protocol-version': '1' }
  const response = await fetch(`${api.url}/${nameOf(method)}`, {
    method: 'POST',
    headers: { ...headers, ...type },
    body,
  })
  const { message } = (await response.json()) as { message?: string }
  return `${response.status} ${message ?? ''}`
}

/** Begins the call while a transaction takes the right away, and commits when the call waits for that transaction. */
async function callDuring(
  lose: (sql: TransactionSql) => Promise<unknown>,
  begin: () => Promise<string>,
): Promise<string> {
  const sql = api.world.db.$client
  let answered = false
  const result = await sql.begin(async (tx) => {
    await lose(tx)
    const answer = begin().finally(() => {
      answered = true
    })
    const isWaiting = async () => {
      const [row] = await sql`select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return answered || row!.waiting > 0
    }
    await expect.poll(isWaiting, { interval: 10 }).toBe(true)
    // In an array, because the transaction would wait for a promise.
    return [answer]
  })
  return result[0]!
}

test('every method that may change something is called here, or makes no change', () => {
  expect(changes.map(nameOf).sort()).toEqual(Object.keys(requests).sort())
})

const NOT_SIGNED_IN = '401 You are not signed in, or your session has ended. Sign in, and try again.'

const LOSSES: Record<string, [lose: (person: SignedIn, tx: TransactionSql) => Promise<unknown>, answer: RegExp]> = {
  'whose session is ended': [
    ({ sessionId }, tx) => tx`delete from sessions where id = ${sessionId}`,
    new RegExp(`^${NOT_SIGNED_IN}$`),
  ],
  'who is removed': [
    ({ personId }, tx) => tx`delete from members where person_id = ${personId}`,
    /^404 There is no such account, or you do not belong to it\.$/,
  ],
  'who is made a reader': [
    ({ personId }, tx) => tx`update members set role = 'reader' where person_id = ${personId}`,
    /^403 This needs the role (member|owner), and you are a reader of this account\.$/,
  ],
}

for (const [who, [lose, expected]] of Object.entries(LOSSES)) {
  test(`a person ${who} during a call makes no change with it, by any method`, async () => {
    const before = await everyRow(api.world.db)
    const needsRole = (method: DescMethod) => ruleOf(method).access > Access.READER
    for (const method of who === 'whose session is ended' ? changes : changes.filter(needsRole)) {
      const { headers, personId, ...signedIn } = await person()
      const answer = await callDuring(
        (tx) => lose({ headers, personId, ...signedIn }, tx),
        () => call(method, headers),
      )
      expect([nameOf(method), answer]).toEqual([nameOf(method), expect.stringMatching(expected)])
      await api.world.db.$client`delete from members where person_id = ${personId}`
      await api.world.db.$client`delete from people where id = ${personId}`
    }
    expect(await everyRow(api.world.db)).toBe(before)
  })
}

test('a key that is revoked during a call makes no change with it, by any method', async () => {
  const { db, clock, account } = api.world
  const ofKeys = changes.filter(({ parent }) => parent.typeName.startsWith('verdict.v1.'))
  expect(ofKeys.length).toBeGreaterThan(9)
  const newKey = { accountId: account.id, name: 'lost', kind: 'live', scopes: SCOPES_OF.live } as const
  const made = await Promise.all(ofKeys.map(async (method) => ({ method, ...(await createKey(db, clock, newKey)) })))
  const before = async () => JSON.parse(await everyRow(db)).slice(0, -1)
  const rows = await before()
  for (const { method, key, apiKey } of made) {
    const answer = await callDuring(
      (tx) => tx`update api_keys set revoked_at = clock_timestamp() where id = ${apiKey.id}`,
      () => call(method, { authorization: `Bearer ${key}` }),
    )
    const expected = '401 This API key does not exist, was revoked or has expired.'
    expect([nameOf(method), answer]).toEqual([nameOf(method), expected])
  }
  expect(await before()).toEqual(rows)
})
