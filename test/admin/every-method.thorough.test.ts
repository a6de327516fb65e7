import { globSync } from 'node:fs'
import { join } from 'node:path'
import { type DescFile, type DescMethod, fromBinary, getOption } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts'
import { Access, access, confirmed } from '../../gen/verdict/admin/v1/options_pb.ts'
import { scope } from '../../gen/verdict/v1/options_pb.ts'
import { publicId } from '../../server/db/ids.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { bindingsOf } from '../../server/http/rest/bindings.ts'
import { type SignedIn, signIn } from '../harness/person.ts'
import { words } from '../harness/text.ts'
import { startApi } from '../services/api.ts'

// Who may call what: every method of both contracts, called by every kind of caller. No body is valid, so a call that
// passes the gate fails with `invalid_payload` and changes nothing.

const PASSES = 'invalid_payload'
const NEEDS_PASSWORD = words(`
  CreateEndpoint UpdateEndpoint DeleteEndpoint RotateEndpointSecret PutWebhook DeleteWebhook RotateSecret
`)

const api = await startApi()
const { db, clock, sealer, account } = api.world
const accountId = account.id
const other = await createAccount(db, clock, 'Elsewhere')
const parts = { db, clock, sealer }
const people: Record<'reader' | 'member' | 'owner' | 'unconfirmed' | 'foreign', SignedIn> = {
  reader: await signIn(parts, { accountId, role: 'reader' }),
  member: await signIn(parts, { accountId, role: 'member' }),
  owner: await signIn(parts, { accountId, role: 'owner' }),
  unconfirmed: await signIn(parts, { accountId, role: 'owner', confirmed: false }),
  foreign: await signIn(parts, { accountId: other.id, role: 'owner' }),
}
const CONNECT = { 'connect-protocol-version': '1' }
const all = await methodsOf(['gen/verdict/v1/*_pb.ts', 'gen/verdict/admin/v1/*_pb.ts'])
const served = await Promise.all(all.map(async (method) => (await call(method, CONNECT)).status !== 404))
const methods = all.filter((_, i) => served[i])

async function methodsOf(patterns: string[]): Promise<DescMethod[]> {
  const modules = await Promise.all(globSync(patterns).map((path) => import(join(process.cwd(), path))))
  const files = modules.flatMap((module) => Object.values(module).filter(isFile))
  return files.flatMap((file) => file.services).flatMap((service) => service.methods)
}

function isFile(value: unknown): value is DescFile {
  return (value as { kind?: unknown }).kind === 'file'
}

/** Calls a method over Connect. Returns its status, its error code and everything that a caller sees. */
async function call(method: DescMethod, headers: Record<string, string>) {
  const isStream = method.methodKind !== 'unary'
  const text = '{"nonsense":1}'
  const head = Buffer.from([0, 0, 0, 0, text.length])
  const response = await fetch(`${api.url}/${method.parent.typeName}/${method.name}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': isStream ? 'application/connect+json' : 'application/json' },
    body: isStream ? Buffer.concat([head, Buffer.from(text)]) : text,
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  const json = JSON.parse((isStream && response.status === 200 ? bytes.subarray(5) : bytes).toString())
  const { message, details } = json.error?.details ? json.error : json
  const info = details?.find(({ type }: { type: string }) => type === 'google.rpc.ErrorInfo')
  const reason = info && fromBinary(ErrorInfoSchema, Buffer.from(info.value, 'base64')).reason
  return { status: response.status, reason: reason as string | undefined, message: message as string }
}

const isAdmin = (method: DescMethod) => method.parent.typeName.startsWith('verdict.admin.')

function accessOf(method: DescMethod): Access {
  if (isAdmin(method)) return getOption(method, access)
  return /^any$|\.read$/.test(getOption(method, scope)) ? Access.READER : Access.MEMBER
}

const needsPassword = (method: DescMethod) =>
  isAdmin(method) ? getOption(method, confirmed) : NEEDS_PASSWORD.includes(method.name)

/** Calls every method as one caller, and compares the error codes with what a function expects. */
async function expectReasons(
  headersOf: (method: DescMethod) => Record<string, string>,
  expected: (method: DescMethod) => string,
): Promise<void> {
  const nameOf = ({ parent, name }: DescMethod) => `${parent.typeName}/${name}`
  const reasons = await Promise.all(
    methods.map(async (method) => [nameOf(method), (await call(method, headersOf(method))).reason]),
  )
  expect(Object.fromEntries(reasons)).toEqual(
    Object.fromEntries(methods.map((method) => [nameOf(method), expected(method)])),
  )
}

test('the contracts have methods for every kind of caller', () => {
  const kinds = new Set(methods.map(accessOf))
  expect([...kinds].sort()).toEqual([Access.OPEN, Access.PERSON, Access.READER, Access.MEMBER, Access.OWNER])
  expect(methods.length).toBeGreaterThan(35)
})

test('a stranger reaches the holders of links only', async () => {
  await expectReasons(
    () => CONNECT,
    (method) => {
      if (!isAdmin(method)) return 'invalid_api_key'
      return accessOf(method) === Access.OPEN ? PASSES : 'invalid_session'
    },
  )
})

test('an API key with every scope reaches the public API, and nothing of the dashboard', async () => {
  await expectReasons(
    () => ({ ...CONNECT, authorization: `Bearer ${api.keys.live}` }),
    (method) => (!isAdmin(method) || accessOf(method) === Access.OPEN ? PASSES : 'invalid_session'),
  )
})

test('a test key sends and reads, and every call that changes the account is refused', async () => {
  await expectReasons(
    () => ({ ...CONNECT, authorization: `Bearer ${api.keys.test}` }),
    (method) => {
      if (isAdmin(method)) return accessOf(method) === Access.OPEN ? PASSES : 'invalid_session'
      return /^any$|^emails\.send$|\.read$/.test(getOption(method, scope)) ? PASSES : 'insufficient_scope'
    },
  )
})

const RANK = { reader: Access.READER, member: Access.MEMBER, owner: Access.OWNER, unconfirmed: Access.OWNER }

test.for(Object.keys(RANK) as (keyof typeof RANK)[])('a person who is %s has what the role includes', async (who) => {
  await expectReasons(
    () => people[who].headers,
    (method) => {
      if (accessOf(method) > RANK[who]) return 'insufficient_role'
      return who === 'unconfirmed' && needsPassword(method) ? 'confirmation_required' : PASSES
    },
  )
})

test('a person of another account gets not_found, byte for byte as for an account that does not exist', async () => {
  const needsAccount = (method: DescMethod) => accessOf(method) >= Access.READER
  const theirs = { ...people.foreign.headers, 'verdict-account': publicId('acc', accountId) }
  const nobodys = { ...people.foreign.headers, 'verdict-account': publicId('acc', crypto.randomUUID()) }
  await expectReasons(
    () => theirs,
    (method) => (needsAccount(method) ? 'not_found' : PASSES),
  )
  for (const method of methods.filter(needsAccount)) {
    expect(await call(method, theirs)).toEqual(await call(method, nobodys))
  }
})

test('a cookie without the header of the protocol is no credential', async () => {
  await expectReasons(
    () => ({ cookie: people.owner.cookie, 'verdict-account': publicId('acc', accountId) }),
    (method) => (isAdmin(method) ? 'invalid_payload' : 'invalid_api_key'),
  )
  const person = methods.find(({ name }) => name === 'GetPerson')!
  expect((await call(person, { cookie: people.owner.cookie })).message).toContain('Connect-Protocol-Version')
})

test('a cookie is no credential over gRPC-Web, which serves nothing of the dashboard', async () => {
  for (const method of methods) {
    const response = await fetch(`${api.url}/${method.parent.typeName}/${method.name}`, {
      method: 'POST',
      headers: { ...people.owner.headers, 'content-type': 'application/grpc-web+proto' },
      body: Buffer.alloc(5),
    })
    const status = isAdmin(method) ? '12' : '16'
    expect([method.name, response.headers.get('grpc-status')]).toEqual([method.name, status])
  }
})

test('a cookie is no credential over REST, which has no path of the dashboard', async () => {
  const services = new Set(methods.filter((method) => !isAdmin(method)).map(({ parent }) => parent))
  const bindings = bindingsOf([...services])
  expect(bindings.length).toBeGreaterThan(20)
  for (const { verb, path } of bindings) {
    const response = await fetch(api.url + path.replace(/\{[^}]*\}/g, 'x'), {
      method: verb,
      headers: people.owner.headers,
    })
    expect([verb, path, response.status]).toEqual([verb, path, 401])
  }
})
