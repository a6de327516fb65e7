import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { snippets } from '../docs/snippets.ts'
import { startExim } from './exim.ts'
import { startSmtpd } from './opensmtpd.ts'
import { mailboxFolder, startPostfix } from './postfix.ts'
import { SENDER_DOMAIN } from './product.ts'
import type { Relay, RelayPlace, Word } from './relay-world.ts'
import { startSendmail } from './sendmail.ts'

// The mail servers of docs/smtp.md, with the lines of that page. The names of its hosts and files are replaced.

const GUIDE = snippets(readFileSync('docs/smtp.md', 'utf8'))

/** The block of the guide that begins with this file's name. */
function fileOfGuide(name: string): string {
  const [block, ...others] = GUIDE.filter(({ text }) => text.startsWith(`# ${name}\n`))
  if (!block || others.length > 0)
    throw new Error(`docs/smtp.md has ${others.length + (block ? 1 : 0)} blocks of ${name}`)
  return block.text
}

/** Fails when the guide has lost what is replaced. */
function replaced(text: string, names: Record<string, string>): string {
  return Object.entries(names).reduce((all, [from, to]) => {
    if (!all.includes(from)) throw new Error(`docs/smtp.md has no ${from} in:\n${text}`)
    return all.replaceAll(from, to)
  }, text)
}

const CA_FILE = '/etc/ssl/certs/ca-certificates.crt'
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

export async function startPostfixRelay({ key, authorityFile, folder, lmtp, home }: RelayPlace): Promise<Relay> {
  const passwords = join(folder, 'postfix-passwords')
  const ofGuide = replaced(fileOfGuide('/etc/postfix/verdict'), { 'verdict.example': 'localhost', 'svc_live_...': key })
  writeFileSync(passwords, ofGuide)
  const lines = replaced(fileOfGuide('/etc/postfix/main.cf'), {
    'verdict.example:24': `localhost:${lmtp.port}`,
    '/etc/postfix/verdict': passwords,
    [CA_FILE]: authorityFile,
    '[mail.example.com]': `[127.0.0.1]:${home.port}`,
  })
  const settings = [...lines.matchAll(/^(\w+) = (.*)$/gm)].map(([, name, value]) => [name!, value!] as const)
  const postfix = await startPostfix({
    listeners: { '127.0.0.1': {} },
    addresses: { 'nobody@unused.example.net': 'unused' },
    mailboxes: await mailboxFolder(),
    sends: true,
    settings: {
      mynetworks: '127.0.0.0/8',
      smtpd_relay_restrictions: 'permit_mynetworks, reject',
      lmtp_host_lookup: 'native',
      // After 1 s its queue would be read while the delivery agent still has the message: it then waits for 60 s.
      ...{ minimal_backoff_time: '2s', maximal_backoff_time: '2s', queue_run_delay: '1s' },
      ...Object.fromEntries(settings),
    },
  })
  const words = (recipient: string) =>
    [...postfix.log().matchAll(new RegExp(` to=<${escaped(recipient)}>.* status=(\\w+) \\(.*`, 'g'))].map(
      ([text, fate]): Word => ({ fate: fate as Word['fate'], text }),
    )
  return { port: postfix.port, words, log: postfix.log, stop: postfix.stop }
}

const EXIM_SIGNS: Record<string, Word['fate']> = { '=>': 'sent', '->': 'sent', '==': 'deferred', '**': 'bounced' }

export async function startEximRelay({ key, authorityFile, lmtp, home }: RelayPlace): Promise<Relay> {
  const ofGuide = replaced(fileOfGuide('exim4.conf'), {
    'verdict.example': 'localhost',
    'port = 24': `port = ${lmtp.port}`,
    'svc_live_...': key,
    [CA_FILE]: authorityFile,
    'mail.example.com': `127.0.0.1::${home.port}`,
    // Exim does not send to its own machine.
    'no_more\n': 'no_more\n  self = send\n',
  })
  const port = await freePort()
  const exim = await startExim(
    {
      address: '127.0.0.1',
      configuration: `acl_smtp_rcpt = accept
domainlist local_domains =
${ofGuide}
begin retry
* * F,1h,1s
`,
      queueRuns: '1s',
    },
    { port },
  )
  // A run of the queue before the retry is due asks no server.
  const words = (recipient: string) =>
    [...exim.log().matchAll(new RegExp(` (=>|->|==|\\*\\*) ${escaped(recipient)} (?!routing defer).*`, 'g'))].map(
      ([text, sign]): Word => ({ fate: EXIM_SIGNS[sign!]!, text }),
    )
  return { port, words, log: exim.log, stop: exim.stop }
}

/** Its log has no words of a reply of 5xx: these are in the bounce. */
const SENDMAIL_STATES: [RegExp, Word['fate']][] = [
  [/^Sent/, 'sent'],
  [/^(Deferred|queued)/, 'deferred'],
]

export async function startSendmailRelay({ key, authorityFile, smtp, home }: RelayPlace): Promise<Relay> {
  const port = await freePort()
  const features = replaced(fileOfGuide('/etc/mail/sendmail.mc'), {
    '[verdict.example]': '[localhost]',
    'TCP $h 587': `TCP $h ${smtp.port}`,
    [CA_FILE]: authorityFile,
  })
  const tables = {
    authinfo: replaced(fileOfGuide('/etc/mail/authinfo'), {
      'verdict.example': 'localhost.example.org',
      'svc_live_...': key,
    }),
    mailertable: replaced(fileOfGuide('/etc/mail/mailertable'), {
      'example.com esmtp:[mail.example.com]': `${SENDER_DOMAIN} esmtp:[127.0.0.1]`,
    }),
    access: replaced(fileOfGuide('/etc/mail/access'), { 'verdict.example': 'localhost.example.org' }),
  }
  const mailboxes = `define(\`ESMTP_MAILER_ARGS', \`TCP $h ${home.port}')\n`
  const sendmail = await startSendmail({ port, features: mailboxes + features, tables })
  const words = (recipient: string) =>
    [...sendmail.log().matchAll(new RegExp(` to=<${escaped(recipient)}>,.* stat=(.*)`, 'g'))].map(
      ([text, state]): Word => ({ fate: SENDMAIL_STATES.find(([is]) => is.test(state!))?.[1] ?? 'bounced', text }),
    )
  return { port, words, log: sendmail.log, stop: sendmail.stop }
}

const OPENSMTPD_RESULTS: Record<string, Word['fate']> = { Ok: 'sent', TempFail: 'deferred', PermFail: 'bounced' }

export async function startOpensmtpdRelay({ key, authorityFile, folder, smtp, home }: RelayPlace): Promise<Relay> {
  const port = await freePort()
  const secrets = join(folder, 'opensmtpd-secrets')
  writeFileSync(secrets, replaced(fileOfGuide('/etc/smtpd/secrets'), { 'svc_live_...': key }), { mode: 0o644 })
  const ofGuide = replaced(fileOfGuide('/etc/smtpd.conf'), {
    'listen on localhost': `listen on 127.0.0.1 port ${port}`,
    '/etc/smtpd/secrets': secrets,
    'verdict.example:587': `localhost:${smtp.port}`,
    'mail.example.com': `127.0.0.1:${home.port}`,
    'domain "example.com"': `domain "${SENDER_DOMAIN}"`,
  })
  const files = { [CA_FILE]: authorityFile }
  const smtpd = await startSmtpd(ofGuide, { address: '127.0.0.1', port }, { files, triesQueue: true })
  const words = (recipient: string) =>
    [...smtpd.log().matchAll(new RegExp(` mta delivery .* to=<${escaped(recipient)}> .* result="(\\w+)" .*`, 'g'))].map(
      ([text, result]): Word => ({ fate: OPENSMTPD_RESULTS[result!]!, text }),
    )
  return { port, words, log: smtpd.log, stop: smtpd.stop }
}
