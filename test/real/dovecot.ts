import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'

/**
 * Starts only Dovecot's quota-status. At RCPT, Postfix asks it whether a mailbox in `mailboxes` has room (policy
 * delegation), and sends its reply, `552 5.2.2 Mailbox is full`, to the client.
 */
export async function startQuotaStatus(mailboxes: string, quota: string): Promise<Daemon & { policy: string }> {
  const folder = await openFolder('dovecot')
  const port = await freePort()
  const configuration = join(folder, 'dovecot.conf')
  await writeFile(configuration, settings(folder, mailboxes, quota, port))
  const daemon = await startDaemon(['dovecot', '-F', '-c', configuration], { port })
  return { ...daemon, policy: `check_policy_service inet:127.0.0.1:${port}` }
}

function settings(folder: string, mailboxes: string, quota: string, port: number): string {
  return `base_dir = ${folder}/run
state_dir = ${folder}/run
log_path = /dev/stderr
protocols =
ssl = no
mail_location = maildir:${mailboxes}/%n
mail_plugins = quota
mail_uid = nobody
mail_gid = nogroup
passdb {
  driver = static
  args = nopassword=y
}
userdb {
  driver = static
  args = home=${mailboxes}/%n
}
plugin {
  quota = maildir:Mailbox
  quota_rule = *:storage=${quota}
  quota_status_success = DUNNO
  quota_status_nouser = DUNNO
  quota_status_overquota = 552 5.2.2 Mailbox is full
}
service quota-status {
  executable = quota-status -p postfix
  client_limit = 1
  inet_listener {
    address = 127.0.0.1
    port = ${port}
  }
}
`
}
