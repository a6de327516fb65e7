import { readDomainName } from '../domains/name.ts'
import { type Answer, Failure } from './command.ts'
import { instructions, listed, report, rotation, type ShownDomain } from './domain-text.ts'
import { callApi } from './service.ts'

// The domains commands as a user of the service calls them, with a key instead of the database.

const PATH = '/api/v1/domains'

/** What the service answers, as far as it is printed for people. */
interface Domain {
  domain_id: string
  domain: string
  status: string
  records: (Omit<ShownDomain['records'][number], 'checkedAt'> & { last_checked_at?: string })[]
  dkim: { keys: { selector: string; state: string; retires_at?: string }[] }
  verified_at?: string
}

type Url = string | undefined

/** Whether the API is meant: it or a key for it is named, and no account of the database is. */
export function isMeant({ url, account }: { url: Url; account: string | undefined }): boolean {
  return account === undefined && Boolean(url || process.env.VERDICT_URL || process.env.VERDICT_API_KEY)
}

export async function add(url: Url, domain: string, require_tls: boolean | undefined): Promise<Answer> {
  const added = await call(url, PATH, 'POST', { domain, require_tls })
  return { json: added, text: instructions(shown(added)) }
}

export async function list(url: Url): Promise<Answer> {
  const answer = (await callApi({ url, path: PATH })) as unknown as { domains: Domain[] }
  return { json: answer, text: listed(answer.domains.map(shown)) }
}

export async function show(url: Url, name: string): Promise<Answer> {
  const domain = await find(url, name)
  return { json: domain, text: report(shown(domain)) }
}

export async function verify(url: Url, name: string): Promise<Answer> {
  const domain = await call(url, `${await pathOf(url, name)}/verify`, 'POST')
  return { json: domain, text: report(shown(domain)), exit: domain.status === 'verified' ? 'ok' : 'failed' }
}

export async function rotate(url: Url, name: string): Promise<Answer> {
  const domain = await call(url, `${await pathOf(url, name)}/dkim/rotate`, 'POST')
  return { json: domain, text: rotation(shown(domain)) }
}

export async function remove(url: Url, name: string): Promise<Answer> {
  const domain = await find(url, name)
  await call(url, `${PATH}/${domain.domain_id}`, 'DELETE')
  return { json: domain, text: `${domain.domain} is removed.` }
}

async function call(url: Url, path: string, method: 'POST' | 'DELETE', body?: object): Promise<Domain> {
  return (await callApi({ url, path, method, body })) as unknown as Domain
}

const pathOf = async (url: Url, name: string) => `${PATH}/${(await find(url, name)).domain_id}`

/** The API finds domains by their ids, people by their names. */
async function find(url: Url, text: string): Promise<Domain> {
  const { domains } = (await callApi({ url, path: PATH })) as unknown as { domains: Domain[] }
  const name = readDomainName(text)
  const found = domains.find(({ domain }) => domain === name)
  if (found) return found
  throw new Failure('not_found', `The account has no domain ${text}. See: verdict domains list`)
}

function shown({ domain: name, status, records, dkim, verified_at }: Domain): ShownDomain {
  return {
    name,
    status,
    verifiedAt: verified_at ? new Date(verified_at) : undefined,
    records: records.map(({ last_checked_at, ...record }) => ({
      ...record,
      unknown: record.value === '' ? record.error : undefined,
      checkedAt: last_checked_at ? new Date(last_checked_at) : undefined,
    })),
    keys: dkim.keys.map(({ retires_at, ...key }) => ({
      ...key,
      retiresAt: retires_at ? new Date(retires_at) : undefined,
    })),
  }
}
