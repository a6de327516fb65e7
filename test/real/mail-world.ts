import { freePort } from '../../dev/ports.ts'
import { type Maildirs, maildirs } from './maildirs.ts'
import { type Nsd, startNsd } from './nsd.ts'
import { mailboxFolder, type Postfix, type PostfixSetup, startPostfix } from './postfix.ts'
import { type Account, createSender, type Product, startProduct } from './product.ts'

export interface MailWorld {
  account: Account
  product: Product
  postfix: Postfix
  nsd: Nsd
}

type Setup = Omit<PostfixSetup, 'mailboxes'>

export interface MailWorldSetup {
  /** Lines of the recipients' zone, `example.net`. */
  recipients: string
  postfix: (mailboxes: string) => Setup | Promise<Setup>
  env?: NodeJS.ProcessEnv
}

export const ANNA = 'anna@people.example.net'
/** One Postfix, with a mailbox for `ANNA`. */
export const ONE_MAILBOX: MailWorldSetup = {
  recipients: 'people MX 10 mx\nmx A 127.0.0.1',
  postfix: () => ({ listeners: { '127.0.0.1': {} }, addresses: { [ANNA]: 'anna' } }),
}

/**
 * Starts the product with Postfix as the recipients' server and nsd as the only DNS, so that no name leads out of the
 * machine.
 */
export async function startMailWorld({ recipients, postfix: setUp, env }: MailWorldSetup): Promise<MailWorld> {
  const start = async ({ mailboxes, port }: Place) => startPostfix({ ...(await setUp(mailboxes)), mailboxes, port })
  const { servers, ...world } = await startServerWorld({ recipients, servers: { postfix: start }, env })
  return { ...world, postfix: servers.postfix }
}

/** Where a mail server of the recipients listens and delivers. */
export interface Place {
  /** All servers listen on it, each on loopback addresses of its own. */
  port: number
  mailboxes: string
  nsd: Nsd
}

export interface ServerWorldSetup<Servers> {
  /** Lines of the recipients' zone, `example.net`. */
  recipients: string
  /** Lines of the sender's zone, `example.com`, beside the records of its domain. */
  senders?: string
  servers: { [Name in keyof Servers]: (place: Place) => Promise<Servers[Name]> }
  /** A loopback address on whose port 53 the DNS also listens, for servers whose port of DNS is fixed. */
  dnsAddress?: string
  env?: NodeJS.ProcessEnv
}

export interface ServerWorld<Servers> {
  account: Account
  product: Product
  servers: Servers
  mailboxes: Maildirs
  /** The port of all mail servers. */
  port: number
  nsd: Nsd
}

/** Like `startMailWorld`, with any mail servers. */
export async function startServerWorld<Servers extends Record<string, { stop(): Promise<void> }>>(
  setup: ServerWorldSetup<Servers>,
): Promise<ServerWorld<Servers>> {
  const folder = await mailboxFolder()
  const account = await createSender()
  const zones = { 'example.com': `${account.zone}\n${setup.senders ?? ''}`, 'example.net': setup.recipients }
  const nsd = await startNsd(zones, { also: setup.dnsAddress ? [setup.dnsAddress] : [] })
  const place = { port: await freePort(), mailboxes: folder, nsd }
  const started: [string, { stop(): Promise<void> }][] = []
  for (const [name, start] of Object.entries(setup.servers)) started.push([name, await start(place)])
  const product = await startProduct(account, {
    DNS_SERVERS: nsd.address,
    SMTP_PORT: String(place.port),
    SMTP_ALLOW_SUBNETS: '127.0.0.0/8',
    SMTP_HELO_NAME: 'mail.example.com',
    ...setup.env,
  })
  const servers = Object.fromEntries(started) as unknown as Servers
  return { account, product, servers, mailboxes: maildirs(folder), port: place.port, nsd }
}
