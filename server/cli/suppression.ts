import { matchingForm, parseAddress } from '../address.ts'
import { EVERYBODY } from '../db/schema.ts'
import { addSuppressions, removeSuppression } from '../reputation/suppression-list.ts'
import { command, Failure } from './command.ts'
import { callApi, urlOption } from './service.ts'
import { withDatabase } from './surroundings.ts'
import { table } from './table.ts'

const PATH = '/api/v1/suppression'

interface Entry {
  email: string
  scope: string
  tenant_id?: string
  reason: string
  detail?: string
  created_at: string
  expires_at?: string
}

const tenantOption = { type: 'string', value: 'tenant_id', help: 'of this tenant alone' } as const
const globalOption = {
  type: 'boolean',
  help: 'for everybody who sends through this service: by its operator, straight on the database',
} as const

export const list = command({
  summary: 'List who is not mailed, newest first.',
  options: {
    email: { type: 'string', value: 'address', help: 'entries of this address, the global one included' },
    reason: { type: 'string', value: 'reason', help: 'bounce, complaint, import or manual' },
    tenant: tenantOption,
    limit: { type: 'string', value: 'number', help: 'how many at the most, 1 to 100; 50 when left out' },
    cursor: { type: 'string', value: 'cursor', help: 'the next_cursor of the page before' },
    url: urlOption,
  },
  examples: ['verdict suppression list', 'verdict suppression list --email ann@example.com'],
  async run({ email, reason, tenant: tenant_id, limit, cursor, url }) {
    const page = await callApi({ url, path: PATH + query({ email, reason, tenant_id, limit, cursor }) })
    const rows = (page.entries as Entry[]).map((entry) => {
      const holdsFor = entry.scope === 'tenant' ? `tenant ${entry.tenant_id}` : entry.scope
      return [entry.created_at, entry.email, holdsFor, entry.reason, entry.expires_at ?? '-', entry.detail ?? '-']
    })
    const found = table(['SINCE', 'ADDRESS', 'HOLDS FOR', 'REASON', 'UNTIL', 'DETAIL'], rows, 'No such entry.')
    return { json: page, text: page.has_more ? `${found}\n\nMore: --cursor ${page.next_cursor}` : found }
  },
})

export const add = command({
  summary: 'Suppress an address: nothing is sent to it any more.',
  words: ['address'],
  options: {
    tenant: { ...tenantOption, help: 'for the sends of this tenant alone' },
    reason: { type: 'string', value: 'reason', help: 'bounce, complaint, import or manual; manual when left out' },
    global: globalOption,
    url: urlOption,
  },
  examples: ['verdict suppression add ann@example.com', 'verdict suppression add abuse@example.com --global'],
  async run({ tenant: tenant_id, reason, global, url }, [address]) {
    if (!global) {
      const entry = await callApi({ url, path: PATH, body: { email: address, tenant_id, reason } })
      return { json: entry, text: `${entry.email} is suppressed.` }
    }
    if (tenant_id || reason || url)
      throw new Failure('usage', 'With --global there is no tenant, reason or url to choose.')
    const email = readAddress(address!)
    await withDatabase((db, clock) => addSuppressions({ db, clock }, { accountId: EVERYBODY }, [email], 'manual'))
    return { json: { email, scope: 'global' }, text: `${email} is suppressed for everybody.` }
  },
})

export const remove = command({
  summary: 'Take an address off the list: it can be mailed again.',
  words: ['address'],
  options: { tenant: tenantOption, global: globalOption, url: urlOption },
  examples: [
    'verdict suppression remove ann@example.com',
    'verdict suppression remove ann@example.com --tenant shop-1',
  ],
  async run({ tenant: tenant_id, global, url }, [address]) {
    if (!global) {
      const path = `${PATH}/${encodeURIComponent(address!)}${query({ tenant_id })}`
      return { json: await callApi({ url, method: 'DELETE', path }), text: `Removed ${address}.` }
    }
    if (tenant_id || url) throw new Failure('usage', 'With --global there is no tenant or url to choose.')
    const email = readAddress(address!)
    if (await withDatabase((db) => removeSuppression(db, { accountId: EVERYBODY }, email))) {
      return { json: {}, text: `Removed ${email} for everybody.` }
    }
    throw new Failure('not_found', `There is no global entry for ${email}.`)
  },
})

function readAddress(text: string): string {
  const address = parseAddress(text)
  if (address) return matchingForm(address)
  throw new Failure('usage', `${text} is not an email address, such as ann@example.com.`)
}

function query(parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return given.length > 0 ? `?${new URLSearchParams(given)}` : ''
}
