import { globSync } from 'node:fs'
import { join } from 'node:path'
import { type DescFile, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { runCli as verdict } from '../../cli/run.ts'
import { signIn } from '../harness/person.ts'
import { startApi } from '../services/api.ts'

// Names and labels that a caller gives and others see have no character that controls, hides or reorders text. A new
// text field of a request fails here until it is placed.

const api = await startApi()
const { db, clock, sealer, account } = api.world
const owner = await signIn({ db, clock, sealer }, { accountId: account.id })

const EMAIL = { to: ['delivered@simulator.test'], from: 'hello@example.test', subject: 'Hello', text: 'Hi' }
const DIGEST = '0'.repeat(64)

/** Texts are checked before the endpoint is looked up. */
const UNKNOWN = 'whk_01jxc3d2gwf95srb9y9xd6pz4d'

/** The fields that name something: a method, and its request with this value in the field. */
const NAMES: Record<string, [method: string, request: (name: string) => object]> = {
  'SendRequest.tag': ['EmailService/Send', (tag) => ({ ...EMAIL, tag })],
  'SendRequest.tenant_id': ['EmailService/Validate', (tenant_id) => ({ ...EMAIL, tenant_id })],
  'BatchItem.tag': ['EmailService/SendBatch', (tag) => ({ emails: [{ ...EMAIL, tag }] })],
  'BatchItem.tenant_id': ['EmailService/SendBatch', (tenant_id) => ({ emails: [{ ...EMAIL, tenant_id }] })],
  'SuppressionServiceAddRequest.tenant_id': [
    'SuppressionService/Add',
    (tenant_id) => ({ email: 'a@b.test', tenant_id }),
  ],
  'SuppressionServiceImportRequest.tenant_id': [
    'SuppressionService/Import',
    (tenant_id) => ({ emails: ['a@b.test'], tenant_id }),
  ],
  'PutWebhookRequest.url': ['WebhookService/PutWebhook', (name) => ({ url: `https://hooks.example.com/${name}` })],
  ...Object.fromEntries(
    ['url', 'description', 'tags', 'tenant_ids'].flatMap((field) => {
      const value = (name: string) =>
        field.endsWith('s') ? [name] : field === 'url' ? `https://b.example.com/${name}` : name
      const url = `https://hooks.example.com/${field}`
      return [
        [
          `CreateEndpointRequest.${field}`,
          ['WebhookService/CreateEndpoint', (name) => ({ url, [field]: value(name) })],
        ],
        [
          `UpdateEndpointRequest.${field}`,
          ['WebhookService/UpdateEndpoint', (name) => ({ endpoint_id: UNKNOWN, [field]: value(name) })],
        ],
      ] satisfies [string, (typeof NAMES)[string]][]
    }),
  ),
  'StartImportRequest.file_name': ['ImportService/StartImport', (fileName) => ({ fileName, lines: 1, digest: DIGEST })],
  'StartImportRequest.tenant_id': [
    'ImportService/StartImport',
    (tenant_id) => ({ fileName: 'a.csv', lines: 1, digest: DIGEST, tenant_id }),
  ],
  'SetNotificationUrlRequest.url': [
    'NotificationService/SetNotificationUrl',
    (name) => ({ url: `https://chat.example.com/${name}` }),
  ],
  'RenameAccountRequest.name': ['AccountService/RenameAccount', (name) => ({ name })],
  'ChangeNameRequest.name': ['PersonService/ChangeName', (name) => ({ name })],
  'CreateKeyRequest.name': ['KeyService/CreateKey', (name) => ({ name, scopes: ['emails.send'] })],
  'ResumeDomainRequest.reason': [
    'DomainService/ResumeDomain',
    (reason) => ({ domainId: 'dom_01jxc3d2gwf95srb9y9xd6pz4d', reason }),
  ],
  'AcceptInvitationRequest.name': [
    'InvitationService/AcceptInvitation',
    (name) => ({ token: invitation, name, password: 'a long password' }),
  ],
}
let invitation: string

/** The other texts of requests, and why they need no such rule. */
const OTHERS: Record<string, string> = {
  'their parsers leave ASCII':
    'domain domains email emails to from cc bcc reply_to content_type content_id idempotency_key retry_of digest event events ' +
    'scopes',
  'they are compared with what is stored, and not stored themselves':
    'id cursor domain_id import_id inbox_id key_id invitation_id person_id session_id replay_id dispatch_id message_id event_id ' +
    'endpoint_id issuer FieldMask.paths UpdateDomainRequest.pool ' +
    'action search recipient recipient_domain sender bounced_by token ListEmailsRequest.tag ListEmailsRequest.tenant_id ListEventsRequest.tag ' +
    'ListEventsRequest.tenant_id after StreamEventsRequest.tag StreamEventsRequest.tenant_id ListChangesRequest.tag ' +
    'ListChangesRequest.tenant_id GetStatsRequest.tenant_id SuppressionServiceListRequest.tenant_id ' +
    'SuppressionServiceRemoveRequest.tenant_id SuppressionServiceLiftRequest.tenant_id ReplayFilter.tag ReplayFilter.tenant_id',
  'secrets are not shown': 'password',
  'content of the mail and data of the caller may have them, and is shown with them made visible':
    'subject html text headers metadata',
  'the unfit characters are removed': 'Attachment.filename',
}

async function textFields(): Promise<string[]> {
  const paths = globSync(['gen/verdict/v1/*_pb.ts', 'gen/verdict/admin/v1/*_pb.ts'])
  const modules = await Promise.all(paths.map((path) => import(join(process.cwd(), path))))
  const files = modules.flatMap((module) => Object.values(module).filter(isFile))
  const seen = new Set<DescMessage>()
  const names: string[] = []
  const visit = (desc: DescMessage): void => {
    if (seen.has(desc)) return
    seen.add(desc)
    for (const field of desc.fields) {
      if (field.message) visit(field.message)
      else if (field.scalar === ScalarType.STRING) names.push(`${desc.name}.${field.name}`)
    }
  }
  for (const method of files.flatMap((file) => file.services).flatMap((service) => service.methods)) visit(method.input)
  return names
}

function isFile(value: unknown): value is DescFile {
  return (value as { kind?: unknown }).kind === 'file'
}

test('every text of a request is a name or has a reason not to be treated as one', async () => {
  const others = Object.values(OTHERS).flatMap((list) => list.split(' '))
  const isPlaced = (field: string) =>
    Object.hasOwn(NAMES, field) || others.includes(field) || others.includes(field.split('.')[1]!)
  const fields = await textFields()
  expect(fields.length).toBeGreaterThan(60)
  expect(fields.filter((field) => !isPlaced(field))).toEqual([])
  expect(Object.keys(NAMES).filter((field) => !fields.includes(field))).toEqual([])
})

async function call(method: string, request: object): Promise<string> {
  const isAdmin = /^(Import|Key|Invitation|People|Account|Person|Notification)Service|\/ResumeDomain$/.test(method)
  const withKey = { authorization: `Bearer ${api.keys.live}`, 'content-type': 'application/json' }
  const response = await fetch(`${api.url}/verdict${isAdmin ? '.admin' : ''}.v1.${method}`, {
    method: 'POST',
    headers: isAdmin ? owner.headers : { ...withKey, 'connect-protocol-version': '1' },
    body: JSON.stringify(request),
  })
  return response.text()
}

async function invite(): Promise<string> {
  const { url } = JSON.parse(
    await call('PeopleService/InvitePerson', { email: 'ann@example.com', role: 'ROLE_READER' }),
  )
  return url.split('/').at(-1)
}

test.each(Object.keys(NAMES))('%s has no character that controls, hides or reorders text', async (field) => {
  invitation ??= await invite()
  const [method, request] = NAMES[field]!
  for (const [character, shown] of [
    ['\u202e', 'U+202E'],
    ['\u2066', 'U+2066'],
    ['\u200b', 'U+200B'],
    ['\u2028', 'U+2028'],
    ['\u009b', 'U+009B'],
  ] as const) {
    expect(await call(method, request(`a${character}b`))).toMatch(
      new RegExp(`must not contain (${shown.replace('+', '\\+')}|spaces)`),
    )
  }
  // Persian needs the joiner.
  const plain = await call(method, request(field.endsWith('url') ? 'path' : 'می\u200cخواهم'))
  expect(plain).not.toContain('invalid_payload')
})

test.each([
  ['accounts', 'create'],
  ['keys', 'create'],
])('verdict %s %s refuses them, too', async (...command) => {
  await expect(verdict([...command, 'a\u202eb'])).rejects.toThrow('<name>: must not contain U+202E')
  await expect(verdict([...command, ' '])).rejects.toThrow('<name>: must have 1 to 100 characters')
})
