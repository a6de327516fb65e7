import { Command } from '@commander-js/extra-typings'
import { createGuard } from '../net/guard.ts'
import { reasonFault, resumeDomain } from '../server/admin/pause.ts'
import type { DatabaseClock } from '../server/db/clock.ts'
import type { Database } from '../server/db/connect.ts'
import { createSealer } from '../server/db/encryption.ts'
import { createVerifier } from '../server/domains/dns-verifier.ts'
import {
  changeSettings,
  createDomain,
  type Domain,
  deleteDomain,
  findDomain,
  findDomainById,
  listDomains,
} from '../server/domains/domains.ts'
import { readDomainName, readSendingDomain } from '../server/domains/name.ts'
import { makeNextDkimKey } from '../server/domains/rotation.ts'
import { createDomainVerification } from '../server/domains/verification.ts'
import { accountOption, chooseAccount } from './accounts.ts'
import { CliError, command, type Output, type Print } from './command.ts'
import { withDatabase } from './database.ts'
import { domainFacts, hosts, instructions, listText, operatorRecords, report, rotation, view } from './domain-text.ts'
import * as byApi from './domains-by-api.ts'
import { variables } from './environment.ts'
import { operator } from './operator.ts'
import { urlOption } from './service.ts'

// A user of the service gives its URL or an API key: each command then calls the API. The operator gives --account, or
// neither URL nor key: it then works on the database.

export const domainsCommand = (print: Print) =>
  new Command('domains')
    .description('Manage sending domains: add, list, show, verify, rotate, pool, resume, remove')
    .addCommand(add(print))
    .addCommand(list(print))
    .addCommand(show(print))
    .addCommand(verify(print))
    .addCommand(rotate(print))
    .addCommand(pool(print))
    .addCommand(resume(print))
    .addCommand(remove(print))

const add = (print: Print) =>
  command('add', 'verdict domains add example.com', 'verdict domains add example.com --verified')
    .summary('Add a sending domain')
    .description('Add a sending domain with its own DKIM key, and print the DNS records it needs.')
    .argument('<domain>')
    .addOption(accountOption())
    .option('--verified', 'Vouch for the records: the domain may send at once, and DNS is not checked')
    .option('--no-warm-up', 'The domain is known to mailbox providers: no daily limit in its first days')
    .option('--require-tls', 'Mail from this domain leaves only over TLS with a valid certificate')
    .addOption(urlOption())
    .action(async (text, { account, verified, warmUp: warmsUp, requireTls: requiresTls, url }) => {
      const callsApi = byApi.callsApi({ url, account }) && !verified && warmsUp
      if (callsApi) return print(await byApi.add(url, text, requiresTls))
      const read = readSendingDomain(text)
      if ('fault' in read) throw new CliError('usage', `${text} ${read.fault}.`)
      const { name } = read
      const sealer = createSealer(variables('encryptionKeys').encryptionKeys)
      const status = verified ? 'verified' : 'pending'
      const domain = await withDatabase(async (db, clock) => {
        const { id: accountId } = await chooseAccount(db, account)
        const requester = operator(accountId)
        return createDomain({ db, sealer, clock }, { accountId, name, status, warmsUp, requiresTls, requester })
      })
      print({ json: view(domain), text: instructions(domainFacts(domain), operatorRecords()) })
    })

const list = (print: Print) =>
  command('list', 'verdict domains list', 'verdict domains list --json')
    .description('List the sending domains of an account')
    .addOption(accountOption())
    .addOption(urlOption())
    .action(async ({ account, url }) => {
      if (byApi.callsApi({ url, account })) return print(await byApi.list(url))
      const domains = await withDatabase(async (db) => listDomains(db, (await chooseAccount(db, account)).id))
      print({ json: { domains: domains.map(view) }, text: listText(domains.map(domainFacts)) })
    })

/** A command on one domain. */
const domainCommand = (name: string) =>
  command(name, `verdict domains ${name} example.com`)
    .argument('<domain>')
    .addOption(accountOption())
    .addOption(urlOption())

const show = (print: Print) =>
  domainCommand('show')
    .description('Show the records of a domain, and what DNS had at the last check')
    .action(async (text, { account, url }) => {
      if (byApi.callsApi({ url, account })) return print(await byApi.show(url, text))
      print(
        await withDomain(text, account, async (_, domain) => ({
          json: view(domain),
          text: report(domainFacts(domain)),
        })),
      )
    })

const verify = (print: Print) =>
  domainCommand('verify')
    .description('Check the records of a domain in DNS now, and show what DNS has')
    .action(async (text, { account, url }) => {
      if (byApi.callsApi({ url, account })) return print(await byApi.verify(url, text))
      print(await withDomain(text, account, verifyNow))
    })

const verifyNow: OnDomain = async (db, { id, accountId }, clock) => {
  const { dnsServers: servers, smtpAllowSubnets: allowSubnets } = variables('dnsServers', 'smtpAllowSubnets')
  const verifier = createVerifier({ servers, mayDial: createGuard({ allowSubnets }), hosts: hosts() })
  await createDomainVerification({ db, clock, hosts: hosts(), verifier }).verifyNow(id, accountId)
  const domain = (await findDomainById(db, id))!
  return { json: view(domain), text: report(domainFacts(domain)), exit: domain.status === 'verified' ? 'ok' : 'failed' }
}

const rotate = (print: Print) =>
  domainCommand('rotate')
    .summary('Create the next DKIM key of a domain')
    .description('Create the next DKIM key of a domain. It signs as soon as DNS has its record.')
    .action(async (text, { account, url }) => {
      if (byApi.callsApi({ url, account })) return print(await byApi.rotate(url, text))
      print(await withDomain(text, account, createNextKey))
    })

const createNextKey: OnDomain = async (db, { id, accountId }, clock) => {
  const sealer = createSealer(variables('encryptionKeys').encryptionKeys)
  await makeNextDkimKey({ db, sealer, clock }, id, operator(accountId))
  const domain = (await findDomainById(db, id))!
  return { json: view(domain), text: rotation(domainFacts(domain)) }
}

const pool = (print: Print) =>
  command('pool', 'verdict domains pool example.com main', 'verdict domains pool example.com default')
    .summary('Choose the pool of addresses that mail of a domain leaves from')
    .description(
      'Choose the pool of addresses that mail of a domain leaves from. Its SPF record then names the addresses of the pool. Takes effect within 5 seconds.',
    )
    .argument('<domain>')
    .argument('<pool>', `A pool of TIERS_FILE, or ${TIERS_POOL} for that of the tier of the account`)
    .addOption(accountOption())
    .addOption(urlOption())
    .action(async (text, name, { account, url }) => {
      if (byApi.callsApi({ url, account })) return print(await byApi.pool(url, text, name === TIERS_POOL ? '' : name))
      const { pools } = variables('tiers', 'defaultTier').tiers
      if (name !== TIERS_POOL && !Object.hasOwn(pools, name)) {
        const names = [...Object.keys(pools), TIERS_POOL].join(', ')
        throw new CliError('usage', `There is no pool ${name}. The pools are ${names}; TIERS_FILE can define others.`)
      }
      print(
        await withDomain(text, account, async (db, { id, accountId }) => {
          await changeSettings(db, id, { pool: name === TIERS_POOL ? null : name }, operator(accountId))
          const domain = (await findDomainById(db, id))!
          return { json: view(domain), text: report(domainFacts(domain)) }
        }),
      )
    })

/** The name of no pool of its own. */
const TIERS_POOL = 'default'

const resume = (print: Print) =>
  command('resume', 'verdict domains resume example.com --reason "The list was cleaned"')
    .summary('End a pause of a domain before its time')
    .description(
      'End a pause of a domain before its time. It then sends ten emails a minute, and without a limit after a hundred that neither bounced nor led to complaints.',
    )
    .argument('<domain>')
    .requiredOption('--reason <text>', 'Why, for the audit log (required)')
    .addOption(accountOption())
    .action(async (text, { account, reason: given }) => {
      const reason = given.trim()
      const fault = reasonFault(reason)
      if (fault) throw new CliError('usage', `--reason: ${fault}`)
      const { breaker } = variables('tiers', 'defaultTier').tiers
      print(
        await withDomain(text, account, async (db, domain) => {
          const requester = operator(domain.accountId)
          const resumed = await resumeDomain(db, domain, breaker, { requester, reason })
          if (resumed !== 'resumed') throw new CliError('failed', `${domain.name} is not paused.`)
          return { json: view(domain), text: `${domain.name} sends again, ten emails a minute at first.` }
        }),
      )
    })

const remove = (print: Print) =>
  domainCommand('remove')
    .summary('Remove a domain and its DKIM keys')
    .description('Remove a domain and its DKIM keys. Within 5 seconds nothing is sent from it any more.')
    .action(async (text, { account, url }) => {
      if (byApi.callsApi({ url, account })) return print(await byApi.remove(url, text))
      print(
        await withDomain(text, account, async (db, domain) => {
          await deleteDomain(db, domain.id, operator(domain.accountId))
          return { json: view(domain), text: `Removed ${domain.name}.` }
        }),
      )
    })

type OnDomain = (db: Database, domain: Domain, clock: DatabaseClock) => Promise<Output>

/** Calls `use` with the domain of this name. Throws a CliError when the account has none. */
function withDomain(text: string, account: string | undefined, use: OnDomain): Promise<Output> {
  return withDatabase(async (db, clock) => {
    const name = readDomainName(text)
    const domain = name && (await findDomain(db, (await chooseAccount(db, account)).id, name))
    if (domain) return use(db, domain, clock)
    throw new CliError('not_found', `The account has no domain ${text}. See: verdict domains list`)
  })
}
