import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'
import type { Place } from './mail-world.ts'
import { inOwnView } from './own-view.ts'
import { idOf } from './postfix.ts'
import { unpackedFile } from './unpacked.ts'

export interface OpensmtpdSetup {
  /** The loopback address on which it listens. */
  address: string
  domain: string
  users: string[]
  /** Further lines of smtpd.conf. */
  settings?: string
}

/** Starts a separate OpenSMTPD, which accepts mail for `users` of one domain as from the Internet. */
export function startOpensmtpd(setup: OpensmtpdSetup, place: Place): Promise<Daemon> {
  return startSmtpd(settings(setup, place), { address: setup.address, port: place.port })
}

/** A program of the queue's group. */
const SMTPCTL = `timeout 5 setpriv --regid opensmtpq --keep-groups '${unpackedFile('opensmtpd', 'usr/sbin/smtpctl')}'`
// The queue is tried each second, because its own first pause takes minutes. The server waits for its children when it
// ends, and this is none.
const TRY_QUEUE = `( (while kill -0 $$; do sleep 1; ${SMTPCTL} schedule all || true; done) > /dev/null 2>&1 & )`

/** Starts a separate OpenSMTPD with this smtpd.conf. `files` of the machine are others for it. */
export async function startSmtpd(
  text: string,
  listener: { address: string; port: number },
  { files = {}, triesQueue = false }: { files?: Record<string, string>; triesQueue?: boolean } = {},
): Promise<Daemon> {
  const folder = await openFolder('opensmtpd')
  const configuration = join(folder, 'smtpd.conf')
  await writeFile(configuration, text)
  const command = inOwnView(
    {
      folder,
      files: { '/usr/libexec': unpackedFile('opensmtpd', 'usr/libexec'), ...files },
      empty: ['/run', '/var/lib', '/var/spool'],
      folders: ['/var/lib/opensmtpd/empty', '/var/spool/smtpd'],
      users: ['opensmtpd', 'opensmtpq'].map(
        (name, i) => `${name}:x:${64_000 + i}:${64_000 + i}::/nonexistent:/bin/false`,
      ),
    },
    [
      ...['sh', '-ec', `${triesQueue ? TRY_QUEUE : ''}\nexec "$@"`, 'sh'],
      ...[unpackedFile('opensmtpd', 'usr/sbin/smtpd'), '-d', '-f', configuration],
    ],
  )
  const daemon = await startDaemon(command, listener)
  return { ...daemon }
}

function settings({ address, domain, users, settings = '' }: OpensmtpdSetup, { port, mailboxes }: Place): string {
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
