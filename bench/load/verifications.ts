import { generateKeyPairSync } from 'node:crypto'
import type { Answer } from 'dns-packet'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { sql } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { dkimKeys, domains } from '../../server/db/schema.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { createVerifier, type Verifier } from '../../server/domains/dns-verifier.ts'
import type { Domain } from '../../server/domains/domains.ts'
import { type PublishedRecord, recordsOf, type SendingHosts, stringsOf } from '../../server/domains/records.ts'
import { createDomainVerification } from '../../server/domains/verification.ts'
import { type Dns, delegation } from './dns.ts'
import { startWorker, type Worker, work } from './process.ts'

export const HOSTS: SendingHosts = {
  sourceAddresses: ['192.0.2.25', '2001:db8::25'],
  returnPathHost: undefined,
  bounceHost: 'mail.operator.example',
}

/** The worker's verifier, with the authoritative servers on the port of the bench's DNS. */
export function verifierOf({ address, port }: Pick<Dns, 'address' | 'port'>, hosts = HOSTS): Verifier {
  return createVerifier({ servers: [address], mayDial: () => true, port, hosts })
}

/** All records that a domain publishes, in its own zone. */
export function publishedBy(domain: Pick<Domain, 'name' | 'dkimKeys'>, hosts = HOSTS): Answer[] {
  return [...delegation(domain.name), ...recordsOf(domain, hosts).map(answerOf)]
}

function answerOf({ type, host: name, value }: PublishedRecord): Answer {
  if (type === 'TXT') return { type, name, ttl: 60, data: stringsOf(value) }
  if (type === 'CNAME') return { type, name, ttl: 60, data: value }
  return { type, name, ttl: 60, data: { preference: 10, exchange: value.split(' ')[1]! } }
}

const KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'der', type: 'spki' })

/** A domain with the same key as all others, because creating a key takes longer than verifying a domain. */
export function newDomain(name: string): Domain {
  const id = newId(Date.now())
  const key = { id: newId(Date.now()), domainId: id, selector: 'v20201118-0a0a0a0a', algorithm: 'rsa', publicKey: KEY }
  return { id, name, status: 'pending', dkimKeys: [{ ...key, privateKey: KEY, state: 'active' }] } as unknown as Domain
}

/** Stores `count` domains of two accounts. */
export async function storeDomains(databaseUrl: string, count: number): Promise<Domain[]> {
  const db = connect(databaseUrl, { connections: 1 })
  const clock = await createDatabaseClock(db)
  const accounts = [(await createAccount(db, clock, 'One')).id, (await createAccount(db, clock, 'Two')).id]
  const rows = Array.from({ length: count }, (_, i) => newDomain(`d${i}.example`))
  await db
    .insert(domains)
    .values(rows.map(({ id, name }, i) => ({ id, name, accountId: accounts[i % 2]!, status: 'pending' as const })))
  await db.insert(dkimKeys).values(rows.flatMap(({ dkimKeys }) => dkimKeys))
  clock.stop()
  await db.$client.end()
  return rows
}

export interface Run {
  checks: number
  seconds: number
}

/**
 * `begin` makes all domains due and starts to check them. `finish` waits for the end, `stop` causes it; both return the
 * run.
 */
type Command = 'begin' | 'finish' | 'stop'

interface Parts extends Pick<Dns, 'address' | 'port'> {
  databaseUrl: string
}

/** What of the worker checks domains, in its own process. */
export function startVerifications(parts: Parts): Promise<Worker<Command, Run | undefined>> {
  return startWorker(import.meta.filename, [JSON.stringify(parts)])
}

async function serve({ databaseUrl, ...dns }: Parts): Promise<void> {
  const db = connect(databaseUrl, { connections: 10 })
  const clock = await createDatabaseClock(db)
  const { verifyDue } = createDomainVerification({ db, clock, hosts: HOSTS, verifier: verifierOf(dns) })
  const onError = (error: unknown) => console.error(error)
  let stopping = new AbortController()
  let running: Promise<Run> | undefined

  async function check({ signal }: AbortController): Promise<Run> {
    const startedAt = performance.now()
    const { verified = 0, ...others } = await verifyDue({ signal, onChange: () => {}, onError })
    if (Object.keys(others).length > 0) throw new Error(`Not everything was verified: ${JSON.stringify(others)}`)
    return { checks: verified, seconds: (performance.now() - startedAt) / 1_000 }
  }

  work<Command, Run | undefined>(async (command) => {
    if (command === 'begin') {
      stopping = new AbortController()
      await db.execute(sql`update domains set next_check_at = now() where name like 'd%.example'`)
      running = check(stopping)
      return undefined
    }
    if (command === 'stop') stopping.abort()
    return running
  })
}

if (import.meta.main) await serve(JSON.parse(process.argv[2]!))
