import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'
import { type Maildirs, maildirs } from './maildirs.ts'

export interface Postfix extends Daemon, Maildirs {
  /** The port of all listeners. */
  port: number
}

export interface PostfixSetup {
  /** The settings of smtpd for each loopback address on which it listens. All use the same port. */
  listeners: Record<string, Record<string, string>>
  /** The mailbox in `mailboxes` for each address. Postfix accepts mail for their domains only. */
  addresses: Record<string, string>
  /** The folder of the Maildirs, owned by `nobody`. */
  mailboxes: string
  /** Further lines of main.cf. */
  settings?: Record<string, string>
  /** The port of all listeners; a free one when absent. */
  port?: number
  /** Whether Postfix also sends mail, as `transport_maps` in `settings` says. */
  sends?: boolean
  /** Whether postscreen(8) is in front of its listeners. These then have no settings of their own. */
  isScreened?: boolean
}

/**
 * Starts a separate Postfix that accepts mail for its mailboxes as from the Internet. It leaves the machine's own
 * Postfix alone.
 */
export async function startPostfix(setup: PostfixSetup): Promise<Postfix> {
  const folder = await openFolder('postfix')
  const { port = await freePort() } = setup
  for (const name of ['queue', 'data']) await mkdir(join(folder, name))
  await chown(join(folder, 'data'), idOf('postfix', '-u'), idOf('postfix', '-g'))
  await writeFile(join(folder, 'main.cf'), lines(mainSettings(folder, setup)))
  await writeFile(join(folder, 'master.cf'), listeners(setup, port) + SERVICES + (setup.sends ? SENDER : ''))
  const [first = ''] = Object.keys(setup.listeners)
  // `check` creates the folders of the queue. `postfix start` is not used: it would detach the master from this
  // process.
  const start = [
    'sh',
    '-c',
    `postfix -c ${folder} check && exec ${defaultOf('daemon_directory')}/master -c ${folder} -s`,
  ]
  const daemon = await startDaemon(start, { address: first, port })

  return {
    ...daemon,
    log: () => readFileSync(join(folder, 'log'), 'utf8'),
    port,
    ...maildirs(setup.mailboxes),
  }
}

/** Creates a folder for Maildirs, owned by `nobody`: Postfix and Dovecot use it as that user. */
export async function mailboxFolder(): Promise<string> {
  const folder = await openFolder('mailboxes')
  await chown(folder, idOf('nobody', '-u'), idOf('nobody', '-g'))
  return folder
}

function mainSettings(folder: string, { addresses, mailboxes, settings }: PostfixSetup): Record<string, string> {
  const domains = new Set(Object.keys(addresses).map((address) => address.split('@')[1]))
  const maildirs = Object.entries(addresses).map(([address, mailbox]) => `{ ${address} = ${mailbox}/ }`)
  return {
    compatibility_level: '3.6',
    queue_directory: join(folder, 'queue'),
    data_directory: join(folder, 'data'),
    daemon_directory: defaultOf('daemon_directory'),
    maillog_file: join(folder, 'log'),
    maillog_file_prefixes: folder,
    inet_protocols: 'ipv4',
    myhostname: 'mail.example.net',
    mydestination: '',
    alias_maps: '',
    // Clients on loopback get no privileges, like clients on the Internet.
    mynetworks: '',
    local_header_rewrite_clients: '',
    smtpd_relay_restrictions: 'reject_unauth_destination',
    virtual_mailbox_domains: [...domains].join(' '),
    virtual_mailbox_base: mailboxes,
    virtual_mailbox_maps: `inline:{ ${maildirs.join(' ')} }`,
    virtual_mailbox_limit: '0',
    virtual_uid_maps: `static:${idOf('nobody', '-u')}`,
    virtual_gid_maps: `static:${idOf('nobody', '-g')}`,
    ...settings,
  }
}

/** The services run without chroot, which would need copies of system files. */
const SERVICES = `cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
`

const SENDER = 'smtp unix - - n - - smtp\nlmtp unix - - n - - lmtp\n'

/** What postscreen hands a client that has passed to. */
const BEHIND_SCREEN = 'smtpd pass - - n - - smtpd\ndnsblog unix - - n - 0 dnsblog\ntlsproxy unix - - n - 0 tlsproxy\n'

function listeners({ listeners, isScreened }: PostfixSetup, port: number): string {
  if (isScreened) {
    const screens = Object.keys(listeners).map((address) => `${address}:${port} inet n - n - 1 postscreen\n`)
    return screens.join('') + BEHIND_SCREEN
  }
  return Object.entries(listeners)
    .map(([address, settings]) => {
      const options = Object.entries(settings).map(([name, value]) => `  -o { ${name} = ${value} }\n`)
      return `${address}:${port} inet n - n - - smtpd\n${options.join('')}`
    })
    .join('')
}

function lines(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('')
}

function defaultOf(setting: string): string {
  return execFileSync('postconf', ['-dh', setting], { encoding: 'utf8' }).trim()
}

export function idOf(user: string, flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
}
