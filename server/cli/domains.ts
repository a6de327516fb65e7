import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { createSealer } from '../db/encryption.ts'
import { createDomain, type Domain, deleteDomain, findDomain, findDomainById, listDomains } from '../domains/domains.ts'
import { readDomainName, readSendingDomain } from '../domains/name.ts'
import { makeNextKey } from '../domains/rotation.ts'
import { createVerification } from '../domains/verification.ts'
import { createVerifier } from '../domains/verify.ts'
import { createGuard } from '../egress/guard.ts'
import { accountOption, chooseAccount } from './accounts.ts'
import { type Answer, command, Failure } from './command.ts'
import { hosts, instructions, listed, operatorsOwn, report, rotation, shown, view } from './domain-text.ts'
import * as byApi from './domains-by-api.ts'
import { urlOption } from './service.ts'
import { variables, withDatabase } from './surroundings.ts'

export const add = command({
  summary: 'Add a sending domain with a DKIM key of its own, and print the DNS records it needs.',
  words: ['domain'],
  options: {
    account: accountOption,
    verified: { type: 'boolean', help: 'you vouch for the records: it may send from now on, and DNS is not asked' },
    'no-warm-up': {
      type: 'boolean',
      help: 'the domain is known to mailbox providers: no daily limit in its first days',
    },
    'require-tls': { type: 'boolean', help: 'its mail may only leave over TLS with a valid certificate' },
    url: urlOption,
  },
  examples: ['verdict domains add example.com', 'verdict domains add example.com --verified'],
  async run({ account, verified, 'no-warm-up': isWarm, 'require-tls': requiresTls, url }, [text]) {
    if (byApi.isMeant({ url, account }) && !verified && !isWarm) return byApi.add(url, text!, requiresTls)
    const read = readSendingDomain(text!)
    if ('fault' in read) throw new Failure('usage', `${text} ${read.fault}.`)
    const { name } = read
    const sealer = createSealer(variables('encryptionKeys').encryptionKeys)
    const domain = await withDatabase(async (db, clock) => {
      const { id: accountId } = await chooseAccount(db, account)
      const status = verified ? 'verified' : 'pending'
      return createDomain({ db, sealer, clock }, { accountId, name, status, warmsUp: !isWarm, requiresTls })
    })
    return { json: view(domain), text: instructions(shown(domain), operatorsOwn()) }
  },
})

export const list = command({
  summary: 'List the sending domains of an account.',
  options: { account: accountOption, url: urlOption },
  examples: ['verdict domains list', 'verdict domains list --json'],
  async run({ account, url }) {
    if (byApi.isMeant({ url, account })) return byApi.list(url)
    const domains = await withDatabase(async (db) => listDomains(db, (await chooseAccount(db, account)).id))
    const text = listed(domains.map(shown))
    return { json: { domains: domains.map(view) }, text }
  },
})

const one = { words: ['domain'], options: { account: accountOption, url: urlOption } }

export const show = command({
  summary: 'Show the records of a domain, and what DNS had in their place at the last check.',
  ...one,
  examples: ['verdict domains show example.com'],
  async run({ account, url }, [text]) {
    if (byApi.isMeant({ url, account })) return byApi.show(url, text!)
    return withDomain(text!, account, async (_, domain) => ({ json: view(domain), text: report(shown(domain)) }))
  },
})

export const verify = command({
  summary: 'Ask DNS about the records of a domain now, and show what it has in their place.',
  ...one,
  examples: ['verdict domains verify example.com'],
  async run({ account, url }, [text]) {
    if (byApi.isMeant({ url, account })) return byApi.verify(url, text!)
    return withDomain(text!, account, async (db, { id }, clock) => {
      const { dnsServers: servers, smtpAllowSubnets: allowSubnets } = variables('dnsServers', 'smtpAllowSubnets')
      const verifier = createVerifier({ servers, mayDial: createGuard({ allowSubnets }), hosts: hosts() })
      await createVerification({ db, clock, hosts: hosts(), verifier }).verifyNow(id)
      const domain = (await findDomainById(db, id))!
      return { json: view(domain), text: report(shown(domain)), exit: domain.status === 'verified' ? 'ok' : 'failed' }
    })
  },
})

export const rotate = command({
  summary: 'Make the next DKIM key of a domain. It signs as soon as its record is seen in DNS.',
  ...one,
  examples: ['verdict domains rotate example.com'],
  async run({ account, url }, [text]) {
    if (byApi.isMeant({ url, account })) return byApi.rotate(url, text!)
    return withDomain(text!, account, async (db, { id }, clock) => {
      const sealer = createSealer(variables('encryptionKeys').encryptionKeys)
      await makeNextKey({ db, sealer, clock }, id)
      const domain = (await findDomainById(db, id))!
      return { json: view(domain), text: rotation(shown(domain)) }
    })
  },
})

export const remove = command({
  summary: 'Remove a domain and its DKIM keys. Within 5 seconds nothing is sent from it any more.',
  ...one,
  examples: ['verdict domains remove example.com'],
  async run({ account, url }, [text]) {
    if (byApi.isMeant({ url, account })) return byApi.remove(url, text!)
    return withDomain(text!, account, async (db, domain) => {
      await deleteDomain(db, domain.id)
      return { json: view(domain), text: `${domain.name} is removed.` }
    })
  },
})

/** Runs with the domain of that name. */
function withDomain(
  text: string,
  account: string | undefined,
  run: (db: Database, domain: Domain, clock: DatabaseClock) => Promise<Answer>,
): Promise<Answer> {
  return withDatabase(async (db, clock) => {
    const name = readDomainName(text)
    const domain = name && (await findDomain(db, (await chooseAccount(db, account)).id, name))
    if (domain) return run(db, domain, clock)
    throw new Failure('not_found', `The account has no domain ${text}. See: verdict domains list`)
  })
}
