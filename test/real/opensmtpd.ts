import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'
import type { Place } from './mail-world.ts'
import { inOwnView } from './own-view.ts'
import { idOf } from './postfix.ts'
import { unpackedFile } from './unpacked.ts'

export interface OpensmtpdSetup {
  /** The loopback address on which it listens. */
  address: string
  /** All lines of smtpd.conf. */
  configuration: string
  /** The file of authorities that is compiled in, in its place. */
  authorityFile?: string
  /** It tries its queue again each second. By itself it waits 400 s. */
  isHurried?: boolean
}

const program = (name: string) => unpackedFile('opensmtpd', `usr/sbin/${name}`)

/** Starts a separate OpenSMTPD. */
export async function startOpensmtpd(
  { address, configuration, authorityFile, isHurried }: OpensmtpdSetup,
  { port }: Pick<Place, 'port'>,
): Promise<Daemon> {
  const folder = await openFolder('opensmtpd')
  const file = join(folder, 'smtpd.conf')
  await writeFile(file, configuration)
  const hurry = `(while sleep 1; kill -0 $$; do ${program('smtpctl')} schedule all; done) >${folder}/hurry 2>&1 &`
  const command = inOwnView(
    {
      folder,
      files: {
        '/usr/libexec': unpackedFile('opensmtpd', 'usr/libexec'),
        ...(authorityFile && { '/etc/ssl/certs/ca-certificates.crt': authorityFile }),
      },
      empty: ['/run', '/var/lib', '/var/spool'],
      folders: ['/var/lib/opensmtpd/empty', '/var/spool/smtpd'],
      users: ['opensmtpd', 'opensmtpq'].map(
        (name, i) => `${name}:x:${64_000 + i}:${64_000 + i}::/nonexistent:/bin/false`,
      ),
    },
    ['sh', '-c', `${isHurried ? hurry : ''} exec ${program('smtpd')} -d -f ${file}`],
  )
  const daemon = await startDaemon(command, { address, port })
  const stop = async () => {
    await daemon.stop()
    await rm(folder, { recursive: true })
  }
  return { ...daemon, stop }
}

export interface MailboxSetup {
  address: string
  domain: string
  users: string[]
  /** Further lines of smtpd.conf. */
  settings?: string
}

/** Starts an OpenSMTPD that accepts mail for `users` of one domain as from the Internet. */
export const startMailboxes = (setup: MailboxSetup, place: Place): Promise<Daemon> =>
  startOpensmtpd({ address: setup.address, configuration: mailboxConfiguration(setup, place) }, place)

function mailboxConfiguration(
  { address, domain, users, settings = '' }: MailboxSetup,
  { port, mailboxes }: Place,
): string {
  const nobody = `${idOf('nobody', '-u')}:${idOf('nobody', '-g')}`
  const addresses = users.map((user) => `"${user}@${domain}" = "${user}"`)
  const accounts = users.map((user) => `"${user}" = "${nobody}:${mailboxes}/${user}"`)
  return `table addresses { ${addresses.join(', ')} }
table accounts { ${accounts.join(', ')} }
${settings}
listen on ${address} port ${port} hostname mail.${domain}
action "in" maildir "${mailboxes}/%{user.username}" userbase <accounts> virtual <addresses>
match from any for domain "${domain}" action "in"
`
}
