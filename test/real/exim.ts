import { readFileSync } from 'node:fs'
import { chown, copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'
import type { Place } from './mail-world.ts'
import { inOwnView } from './own-view.ts'
import { idOf } from './postfix.ts'
import { unpackedFile } from './unpacked.ts'

export interface EximSetup {
  /** The loopback address on which it listens. */
  address: string
  /** The whole configuration, without what `startExim` adds: names and paths. */
  configuration: string
  /** Users of its machine, who have mailboxes. */
  users?: string[]
  /** The address of the DNS server that it asks on port 53. Without one it finds no name. */
  dnsAddress?: string
  /** How often it tries its queue, as `1s`; never when absent. */
  queueRuns?: string
}

const PROGRAM = unpackedFile('exim4-daemon-light', 'usr/sbin/exim4')

/**
 * Starts a separate Exim. It delivers as `nobody`: Exim gives up its rights when its configuration is not the one that
 * is compiled in.
 */
export async function startExim(setup: EximSetup, place: Pick<Place, 'port'>): Promise<Daemon> {
  const folder = await openFolder('exim')
  for (const name of ['spool', 'logs']) {
    await mkdir(join(folder, name))
    await chown(join(folder, name), idOf('nobody', '-u'), idOf('nobody', '-g'))
  }
  const file = (name: string) => join(folder, name)
  // It starts itself as `nobody`, who may not enter the folder of unpacked packages.
  await copyFile(PROGRAM, file('exim4'))
  await writeFile(file('exim.conf'), settings(folder, setup, place.port) + setup.configuration)
  await writeFile(file('resolv.conf'), `nameserver ${setup.dnsAddress ?? '127.0.0.99'}\n`)
  const userNames = ['Debian-exim', ...(setup.users ?? [])]
  const command = inOwnView(
    {
      folder,
      files: { '/etc/resolv.conf': file('resolv.conf') },
      users: userNames.map((name) => `${name}:x:${idOf('nobody', '-u')}:${idOf('nobody', '-g')}::${folder}:/bin/false`),
    },
    [file('exim4'), '-C', file('exim.conf'), '-bdf', ...(setup.queueRuns ? [`-q${setup.queueRuns}`] : [])],
  )
  const daemon = await startDaemon(command, { address: setup.address, port: place.port })
  const log = () => readFileSync(join(folder, 'logs/main'), 'utf8')
  return { log, stop: daemon.stop }
}

function settings(folder: string, { address }: EximSetup, port: number): string {
  return `keep_environment =
deliver_drop_privilege = true
primary_hostname = people.example.net
spool_directory = ${folder}/spool
log_file_path = ${folder}/logs/%s
exim_path = ${folder}/exim4
local_interfaces = ${address}
daemon_smtp_ports = ${port}
`
}

export interface MailboxSetup {
  domains: string[]
  users: string[]
  /** Lines of the ACL at RCPT, before the lookup of the recipient. */
  acl?: string
  /** Lines of the ACL after the content. */
  dataAcl?: string
  /** The port of loopback on which it asks the host of the return path. */
  bouncePort?: number
}

/** The configuration of an Exim with mailboxes for these users. It offers no TLS, so that a recorder sees the mail. */
export function mailboxConfiguration(
  { mailboxes }: Place,
  { domains, users, acl = '', dataAcl = '', bouncePort = 0 }: MailboxSetup,
): string {
  return `tls_advertise_hosts =
acl_smtp_rcpt = at_rcpt
acl_smtp_data = at_data
domainlist local_domains = ${domains.join(' : ')}
begin acl
at_rcpt:
${acl}
  require message = relay not permitted
    domains = +local_domains
  require verify = recipient
  accept
at_data:
${dataAcl}
  accept
begin routers
senders:
  driver = manualroute
  domains = rp.shop.example.com
  route_list = * 127.0.0.1
  self = send
  transport = to_senders
  no_more
mailboxes:
  driver = accept
  local_parts = ${users.join(' : ')}
  transport = mailbox
  cannot_route_message = Unknown user
begin transports
to_senders:
  driver = smtp
  port = ${bouncePort}
mailbox:
  driver = appendfile
  directory = ${mailboxes}/$local_part_data
  maildir_format
  return_path_add
begin retry
`
}
