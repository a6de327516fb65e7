import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

/** The Debian packages and the purpose of each. */
export const PACKAGES: Record<string, string> = {
  postgresql: 'the database',
  'etcd-server': 'elects the leader of PostgreSQL under Patroni',
  haproxy: 'leads to it',
  pgbouncer: 'the pooler in front of it',
  postfix: "the recipient's mail server",
  postgrey: 'its greylisting',
  'libsasl2-modules': 'the login of a Postfix that uses the service as its smarthost',
  swaks: 'a client of SMTP',
  libidn12: 'a library of Exim, which is unpacked',
  libwrap0: 'a library of Sendmail, which is unpacked',
  libnsl2: 'another one',
  'dovecot-core': 'quotas of its mailboxes (Postfix has none of its own and asks quota-status)',
  nsd: 'the authoritative DNS server',
  ldnsutils: 'signs its zones',
  unbound: 'the resolver that validates them',
  opendkim: 'verifies signatures',
  nginx: 'the proxy in front of processes that restart',
  prometheus: 'promtool checks alerts and boards',
  openssl: 'makes certificates',
  systemd: 'checks the units',
  curl: 'the plainest client',
  chromium: 'opens the dashboard',
  'fonts-dejavu-core': 'its letters',
  zsh: 'completes commands',
  fish: 'completes commands',
  libfaketime: 'clocks that are wrong, and jump',
  'php-cli': 'runs the webhook verifier in PHP, the program of its page, and a generated client',
  'php-curl': 'its requests',
  'php-mbstring': 'its text',
  'php-guzzlehttp-guzzle': 'its HTTP client',
  'libphp-phpmailer': 'a client of SMTP',
  msmtp: 'another one',
  ruby: 'runs two more, and the program of its page',
  'ruby-mail': 'one of the two',
  'ruby-webrick': "the page's HTTP server",
  'ruby-typhoeus': 'the HTTP client of a generated client',
  'python3-jwt': 'verifies receipts',
  'python3-cryptography': 'the signatures of python3-jwt',
  'python3-venv': 'for schemathesis and a generated client',
  'default-jdk-headless': "runs Temporal's server that skips time, compiles generated clients",
  maven: 'fetches both',
}

const POLICY = '/usr/sbin/policy-rc.d'
const REFUSE_TO_START = '#!/bin/sh\nexit 101\n'

/** Not installed for every run. */
const ON_DEMAND: Record<string, string> = { 'cargo-web': 'compiles a client in Rust' }

/** Installs missing packages and prints the version of each. Throws when a package cannot be installed. */
export function installPackages(names = Object.keys(PACKAGES)): void {
  if (!existsSync('/usr/bin/apt-get')) throw new Error('There is no apt-get: these tests need Debian 12 or later')
  const missing = names.filter((name) => versionOf(name) === undefined)
  if (missing.length > 0) install(missing)
  for (const name of names) console.log(`  ${name} ${versionOf(name)}: ${PACKAGES[name] ?? ON_DEMAND[name]}`)
}

function install(names: string[]): void {
  console.log(`Installing ${names.join(', ')}`)
  preseedPostfix()
  withoutStartingServices(() => {
    apt(['update', '-qq'])
    apt(['install', '-y', '-qq', '--no-install-recommends', ...names])
  })
  const missing = names.filter((name) => versionOf(name) === undefined)
  if (missing.length > 0) throw new Error(`apt-get did not install ${missing.join(', ')}`)
}

export function apt(args: string[], cwd?: string): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const { status, error } = spawnSync('apt-get', args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`apt-get ${args.join(' ')} failed (${error?.message ?? status})`)
}

/** Keeps Debian from setting up a mail server for the machine. */
function preseedPostfix(): void {
  if (versionOf('postfix') !== undefined) return
  const input = 'postfix postfix/main_mailer_type select No configuration\n'
  execFileSync('debconf-set-selections', { input })
}

/**
 * Debian runs `policy-rc.d` before it starts a newly installed service. A policy that the machine already has stays.
 */
function withoutStartingServices(action: () => void): void {
  const ours = !existsSync(POLICY)
  if (ours) writeFileSync(POLICY, REFUSE_TO_START, { mode: 0o755 })
  try {
    action()
  } finally {
    if (ours) rmSync(POLICY)
  }
}

/** The version of a package, if it is installed and configured. */
function versionOf(name: string): string | undefined {
  const query = ['-W', '-f', '$' + '{db:Status-Abbrev} $' + '{Version}', name]
  const [status, version] = spawnSync('dpkg-query', query, { encoding: 'utf8' }).stdout.split(/ +/)
  return status === 'ii' ? version : undefined
}
