import { readDomainName } from '../server/domains/name.ts'
import { CliError, type Output } from './command.ts'
import { type DomainFacts, instructions, listText, report, rotation } from './domain-text.ts'
import { callApi } from './service.ts'

// The domains commands for users of the service: with an API key instead of the database.

const PATH = '/api/v1/domains'

/** The fields of the service's response that are printed as text. */
interface PrintedDomain {
  domain_id: string
  domain: string
  status: string
  records: (Omit<DomainFacts['records'][number], 'checkedAt'> & { last_checked_at?: string })[]
  dkim: { keys: { selector: string; state: string; retires_at?: string }[] }
  verified_at?: string
  pool?: string
}

type Url = string | undefined

/** Whether to call the API: its URL or a key for it is given, and no account of the database is. */
export function callsApi({ url, account }: { url: Url; account: string | undefined }): boolean {
  return account === undefined && Boolean(url || process.env.VERDICT_URL || process.env.VERDICT_API_KEY)
}

export async function add(url: Url, domain: string, require_tls: boolean | undefined): Promise<Output> {
  const added = await call(url, PATH, 'POST', { domain, require_tls })
  return { json: added, text: instructions(factsOf(added)) }
}

export async function list(url: Url): Promise<Output> {
  const response = (await callApi({ url, path: PATH })) as unknown as { domains: PrintedDomain[] }
  return { json: response, text: listText(response.domains.map(factsOf)) }
}

export async function show(url: Url, name: string): Promise<Output> {
  const domain = await find(url, name)
  return { json: domain, text: report(factsOf(domain)) }
}

export async function verify(url: Url, name: string): Promise<Output> {
  const domain = await call(url, `${await pathOf(url, name)}/verify`, 'POST')
  return { json: domain, text: report(factsOf(domain)), exit: domain.status === 'verified' ? 'ok' : 'failed' }
}

export async function rotate(url: Url, name: string): Promise<Output> {
  const domain = await call(url, `${await pathOf(url, name)}/dkim/rotate`, 'POST')
  return { json: domain, text: rotation(factsOf(domain)) }
}

export async function pool(url: Url, name: string, pool: string): Promise<Output> {
  const domain = await call(url, await pathOf(url, name), 'PATCH', { pool })
  return { json: domain, text: report(factsOf(domain)) }
}

export async function remove(url: Url, name: string): Promise<Output> {
  const domain = await find(url, name)
  await call(url, `${PATH}/${domain.domain_id}`, 'DELETE')
  return { json: domain, text: `Removed ${domain.domain}.` }
}

async function call(
  url: Url,
  path: string,
  method: 'POST' | 'PATCH' | 'DELETE',
  body?: object,
): Promise<PrintedDomain> {
  return (await callApi({ url, path, method, body })) as unknown as PrintedDomain
}

const pathOf = async (url: Url, name: string) => `${PATH}/${(await find(url, name)).domain_id}`

/** Finds the domain by its name: the API takes ids, people know names. */
async function find(url: Url, text: string): Promise<PrintedDomain> {
  const { domains } = (await callApi({ url, path: PATH })) as unknown as { domains: PrintedDomain[] }
  const name = readDomainName(text)
  const match = domains.find(({ domain }) => domain === name)
  if (match) return match
  throw new CliError('not_found', `The account has no domain ${text}. See: verdict domains list`)
}

function factsOf({ domain: name, status, records, dkim, verified_at, pool }: PrintedDomain): DomainFacts {
  return {
    name,
    status,
    pool,
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
