import { globSync } from 'node:fs'
import { join } from 'node:path'
import type { DescFile, DescMethod } from '@bufbuild/protobuf'

// Every method of both contracts, and requests that succeed.

export async function allMethods(): Promise<DescMethod[]> {
  const paths = globSync(['gen/verdict/v1/*_pb.ts', 'gen/verdict/admin/v1/*_pb.ts'])
  const modules: Record<string, unknown>[] = await Promise.all(paths.map((path) => import(join(process.cwd(), path))))
  const files = modules.flatMap(Object.entries).flatMap(([name, file]) => (/^file_/.test(name) ? file : []))
  return (files as DescFile[]).flatMap(({ services }) => services).flatMap(({ methods }) => methods)
}

export const nameOf = ({ parent, name }: DescMethod) => `${parent.typeName}/${name}`

const mail = { to: ['ann@example.net'], from: 'hello@example.test', subject: 'Hello', text: 'Hi' }
const EMAIL_FILTERS = [
  { recipient: 'nobody@example.net' },
  { recipient: 'nobody' },
  { recipient_domain: 'example.org' },
  { sender: 'nobody@example.test' },
  { subject: 'nothing' },
  { status: 'DELIVERY_STATUS_BOUNCED' },
  { feedback: 'FEEDBACK_KIND_COMPLAINT' },
  { bounced_by: 'example.org' },
  { in_doubt: true },
  { tag: 'none' },
  { tenant_id: 'none' },
]

/** What an account has, as the API shows it, and a period. */
interface Known {
  message_id: string
  event_id: string
  endpoint_id: string
  domain_id: string
  from: string
  to: string
}

/** Requests by method. All others are empty. The ids are those of an account. */
export const requestsOf = ({
  message_id,
  event_id,
  endpoint_id,
  domain_id,
  from,
  to,
}: Known): Record<string, object[]> => ({
  'verdict.v1.EmailService/Send': [mail, { ...mail, tenant_id: 'acme' }],
  'verdict.v1.EmailService/Validate': [mail],
  'verdict.v1.EmailService/SendBatch': [{ emails: [mail, mail] }],
  'verdict.v1.EmailService/ListEmails': [{}, ...EMAIL_FILTERS],
  'verdict.v1.EmailService/GetEmail': [{ id: message_id }],
  'verdict.v1.EventService/ListEvents': [{}, { message_id }, { recipient: 'nobody' }, { tag: 'none' }],
  'verdict.v1.EventService/GetEvent': [{ event_id }],
  'verdict.v1.EventService/ListChanges': [{}],
  'verdict.v1.EventService/ReplayEvent': [{ event_id }],
  'verdict.v1.EventService/ReplayMessage': [{ message_id }],
  'verdict.v1.WebhookService/PutWebhook': [{ url: 'https://first.example.net/' }],
  'verdict.v1.WebhookService/GetEndpoint': [{ endpoint_id }],
  'verdict.v1.WebhookService/UpdateEndpoint': [{ endpoint_id, description: 'x' }],
  'verdict.v1.WebhookService/RotateEndpointSecret': [{ endpoint_id }],
  'verdict.v1.DomainService/GetDomain': [{ id: domain_id }],
  'verdict.v1.DomainService/UpdateDomain': [{ id: domain_id, require_tls: false }],
  'verdict.v1.DomainService/VerifyDomain': [{ id: domain_id }],
  'verdict.v1.DomainService/CreateDomain': [{ domain: 'new.test' }],
  'verdict.v1.StatsService/GetStats': [{}, { by: 'GROUP_BY_PROVIDER' }, { granularity: 'GRANULARITY_MINUTE' }],
  'verdict.v1.SuppressionService/Import': [{ emails: ['a@example.net'] }, { emails: ['b@example.net'], dry_run: true }],
  'verdict.v1.SuppressionService/List': [{}, { email: 'a@example.net' }, { domain: 'example.org' }],
  'verdict.v1.SuppressionService/Add': [{ email: 'c@example.net' }],
  'verdict.v1.SuppressionService/Lift': [{ created_from: from, created_to: to, dry_run: true }],
  'verdict.admin.v1.AccountService/RenameAccount': [{ name: 'Renamed' }],
  'verdict.admin.v1.OverviewService/GetOverview': [{ from, to, granularity: 'GRANULARITY_DAY' }],
  'verdict.admin.v1.ReplayService/CountEvents': [{ filter: { from, to } }],
  'verdict.admin.v1.DomainService/GetPause': [{ domain_id }],
  'verdict.admin.v1.PersonService/ChangeName': [{ name: 'Ann' }],
})
