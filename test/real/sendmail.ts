import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'
import { idOf } from './postfix.ts'
import { unpackedFile } from './unpacked.ts'

export interface SendmailSetup {
  port: number
  /** Lines of sendmail.mc before its mailers. */
  features: string
  /** The tables that they name, as text: `makemap` makes the databases. */
  tables: Record<string, string>
}

const CF = unpackedFile('sendmail-cf', 'usr/share/sendmail/cf')
const program = (name: string) => unpackedFile('sendmail-bin', `usr/libexec/sendmail/${name}`)

/** Prints what comes to the socket of syslog(3). */
const SYSLOG =
  'use IO::Socket; $| = 1; $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => shift); print "$_\\n" while defined $s->recv($_, 65536)'

/** Starts a separate Sendmail that takes mail from programs on loopback. It tries its queue each second. */
export async function startSendmail({ port, features, tables }: SendmailSetup): Promise<Daemon> {
  const folder = await openFolder('sendmail')
  const file = (name: string) => join(folder, name)
  for (const name of ['queue', 'dev']) await mkdir(file(name), { mode: 0o700 })
  await writeFile(file('aliases'), '')
  await writeFile(file('hosts'), '127.0.0.1 localhost\n127.0.0.2 relay.example.org\n')
  await writeFile(file('sendmail.mc'), configuration(folder, port, features))
  const m4 = unpackedFile('m4', 'usr/bin/m4')
  const options = [`-D_CF_DIR_=${CF}/`, join(CF, 'm4/cf.m4'), file('sendmail.mc')]
  await writeFile(file('sendmail.cf'), execFileSync(m4, options, { stdio: ['ignore', 'pipe', 'pipe'] }))
  for (const [name, text] of Object.entries(tables)) {
    execFileSync(program('makemap'), ['-C', file('sendmail.cf'), 'hash', file(name)], {
      input: text,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  }
  await writeFile(file('log'), '')
  // Its log goes to /dev/log, so it sees its own devices.
  const steps = [
    ...['null', 'zero', 'random', 'urandom'].flatMap((name) => [
      `touch ${file('dev')}/${name}`,
      `mount --bind /dev/${name} ${file('dev')}/${name}`,
    ]),
    `perl -e '${SYSLOG}' ${file('dev')}/log > ${file('log')} & log=$!`,
    `while ! test -S ${file('dev')}/log; do sleep 0.05; done`,
    `mount --bind ${file('dev')} /dev`,
    // It waits for a minute when its machine has no full name.
    'hostname relay.example.org',
    `mount --bind ${file('hosts')} /etc/hosts`,
    `(while kill -0 $$; do sleep 1; done; kill $log) 2> /dev/null &`,
    `exec ${program('sendmail')} -C ${file('sendmail.cf')} -bD -q1s`,
  ]
  const daemon = await startDaemon(['unshare', '--mount', '--uts', 'sh', '-ec', steps.join('\n')], { port })
  return {
    log: () => readFileSync(file('log'), 'utf8') + daemon.log(),
    stop: daemon.stop,
  }
}

function configuration(folder: string, port: number, features: string): string {
  const nobody = `${idOf('nobody', '-u')}:${idOf('nobody', '-g')}`
  return `VERSIONID(\`test')
OSTYPE(\`linux')
define(\`MAIL_SETTINGS_DIR', \`${folder}/')
define(\`confDOMAIN_NAME', \`relay.example.org')
define(\`QUEUE_DIR', \`${folder}/queue')
define(\`confPID_FILE', \`${folder}/pid')
define(\`STATUS_FILE', \`${folder}/status')
define(\`ALIAS_FILE', \`${folder}/aliases')
define(\`HELP_FILE', \`')
define(\`confDEF_USER_ID', \`${nobody}')
define(\`confDONT_BLAME_SENDMAIL', \`TrustStickyBit')
DAEMON_OPTIONS(\`Addr=127.0.0.1, Port=${port}, Name=MTA')
FEATURE(\`no_default_msa')
FEATURE(\`accept_unresolvable_domains')
FEATURE(\`relay_entire_domain')
${features}
MAILER(\`smtp')
`
}
