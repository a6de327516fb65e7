import { createSealer } from '../db/encryption.ts'
import { showId } from '../db/ids.ts'
import { createDomain, type Domain, listDomains } from '../domains/domains.ts'
import { readDomainName } from '../domains/name.ts'
import { type DnsRecord, inStrings, recordsOf } from '../domains/records.ts'
import { accountOption, chooseAccount } from './accounts.ts'
import { command, Failure } from './command.ts'
import { variables, withDatabase } from './surroundings.ts'
import { moment, table } from './table.ts'

export const add = command({
  summary: 'Add a sending domain with a DKIM key of its own, and print the DNS records it needs.',
  words: ['domain'],
  options: {
    account: accountOption,
    verified: { type: 'boolean', help: 'the records are published: the domain may send from now on' },
    'no-warm-up': {
      type: 'boolean',
      help: 'the domain is known to mailbox providers: no daily limit in its first days',
    },
  },
  examples: ['verdict domains add example.com', 'verdict domains add example.com --verified'],
  async run({ account, verified, 'no-warm-up': isWarm }, [text]) {
    const name = readDomainName(text!)
    if (!name) throw new Failure('usage', `${text} is not a domain that can send, such as example.com.`)
    const sealer = createSealer(variables('encryptionKeys').encryptionKeys)
    const domain = await withDatabase(async (db, clock) => {
      const { id: accountId } = await chooseAccount(db, account)
      const status = verified ? 'verified' : 'pending'
      return createDomain({ db, sealer, clock }, { accountId, name, status, warmsUp: !isWarm })
    })
    const records = published(domain)
    return { json: view(domain, records), text: instructions(domain, records) }
  },
})

export const list = command({
  summary: 'List the sending domains of an account.',
  options: { account: accountOption },
  examples: ['verdict domains list', 'verdict domains list --json'],
  async run({ account }) {
    const domains = await withDatabase(async (db) => listDomains(db, (await chooseAccount(db, account)).id))
    const rows = domains.map(({ name, status, verifiedAt, dkimKeys }) => {
      return [name, status, moment(verifiedAt), dkimKeys.map(({ selector }) => selector).join(',')]
    })
    const text = table(['DOMAIN', 'STATUS', 'VERIFIED', 'DKIM SELECTORS'], rows, 'The account has no domain.')
    return { json: { domains: domains.map((domain) => view(domain, published(domain))) }, text }
  },
})

function published(domain: Domain): DnsRecord[] {
  const { smtpSourceAddresses, returnPathHost } = variables('smtpSourceAddresses', 'returnPathHost')
  return recordsOf({ ...domain, sourceAddresses: smtpSourceAddresses, returnPathHost })
}

function instructions({ name, status }: Domain, records: DnsRecord[]): string {
  const lines = records.map(({ type, host, value }) => `  ${host}.  ${type}  ${inStrings(value)}\n`)
  const spf = records.some(({ record }) => record === 'SPF')
    ? ''
    : '\nThere is an SPF record to publish too: set SMTP_SOURCE_ADDRESSES to the addresses mail leaves from to see it.\n'
  const next = status === 'verified' ? `${name} may send.` : `Then: verdict domains add ${name} --verified`
  return `${name} is ${status}. Its DNS records:\n\n${lines.join('\n')}${spf}\n${next}`
}

function view({ id, name, status, createdAt, verifiedAt }: Domain, records: DnsRecord[]) {
  return { domain_id: showId('dom', id), domain: name, status, records, created_at: createdAt, verified_at: verifiedAt }
}
