import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { goToolchain } from '../../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../../dev/temporal/install-options.ts'
import { installPackages } from '../packages.ts'
import { installRequirements } from '../pythons.ts'

// How each program is built, and the command that sends one message with it. A program sends, sends again once unless
// the failure is final, and prints `sent` or `failed <what its caller got>` for each.

const PROGRAMS = resolve('test/real/smtp-clients')
const DOWNLOAD_AND_COMPILE_MS = 600_000

const GO_MAIL = 'github.com/wneessen/go-mail@v0.8.1'
const JAKARTA_MAIL = [
  'org.eclipse.angus:jakarta.mail:2.0.3',
  'org.eclipse.angus:angus-activation:2.0.3',
  'jakarta.activation:jakarta.activation-api:2.1.4',
]
const LETTRE = `[package]
name = "program"
edition = "2021"
[[bin]]
name = "program"
path = "lettre.rs"
[dependencies.lettre]
version = "=0.11.23"
default-features = false
features = ["smtp-transport", "builder", "hostname", "rustls-tls"]
`

/** The compiler is large, and machines that have it do not have it from Debian. */
export function installCargo(): void {
  if (spawnSync('cargo', ['--version']).error) installPackages(['cargo-web'])
}

/** What a command finds in its environment. */
export interface Mail {
  port: number
  key: string
  from: string
  to: readonly string[]
  subject: string
  authorityFile: string
}

/** Builds a program in an empty folder. */
type Program = (folder: string) => Promise<(mail: Mail) => string[]>

const run = promisify(execFile)
const program = (name: string) => join(PROGRAMS, name)
const plain =
  (...command: string[]): Program =>
  async () =>
  () =>
    command

async function python(folder: string, name: string) {
  const programs = await installRequirements(program('requirements.txt'), folder)
  return () => [join(programs, 'python'), program(name)]
}

export const CLIENTS: Record<string, Program> = {
  "Python's smtplib": plain('/usr/bin/python3', program('python-smtplib.py')),
  nodemailer: plain(process.execPath, program('nodemailer.ts')),
  'nodemailer, pool': plain(process.execPath, program('nodemailer.ts'), 'pool'),
  PHPMailer: plain('php', program('phpmailer.php')),
  'Jakarta Mail': async (folder) => {
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
    for (const artifact of JAKARTA_MAIL) {
      const options = [`-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`]
      await run('mvn', ['--quiet', '--batch-mode', copy, ...options])
    }
    await run('javac', ['-cp', `${folder}/*`, '-d', folder, program('JakartaMail.java')])
    return () => ['java', '-cp', `${folder}:${folder}/*`, 'JakartaMail']
  },
  Django: (folder) => python(folder, 'django-mail.py'),
  aiosmtplib: (folder) => python(folder, 'aiosmtplib-mail.py'),
  msmtp:
    async () =>
    ({ from, to, port, authorityFile }) => [
      ...['sh', program('twice.sh'), 'msmtp', '--host=localhost', `--port=${port}`, '--auth=on', '--user=any'],
      ...['--passwordeval=printenv VERDICT_API_KEY', '--tls=on', `--tls-trust-file=${authorityFile}`],
      ...[`--from=${from}`, '--', ...to],
    ],
  swaks:
    async () =>
    ({ from, to, port, key, subject }) => [
      ...['sh', program('twice.sh'), 'swaks', '--server', 'localhost', '--port', String(port), '--tls'],
      ...['--auth', '--auth-user', 'any', '--auth-password', key, '--from', from, '--to', to.join(',')],
      ...['--header', `Subject: ${subject}`],
    ],
  'go-mail': async (folder) => {
    const signal = AbortSignal.timeout(DOWNLOAD_AND_COMPILE_MS)
    const go = await goToolchain({ report: () => {}, signal, cacheDir: cacheFolder(process.env) })
    const options = { cwd: folder, env: { ...process.env, ...go.env, GOFLAGS: '-mod=mod' } }
    await cp(program('go-mail.go'), join(folder, 'main.go'))
    for (const args of [
      ['mod', 'init', 'example.com/program'],
      ['get', GO_MAIL],
      ['build', '-o', 'program', '.'],
    ]) {
      await run(go.program, args, options)
    }
    return () => [join(folder, 'program')]
  },
  'Net::SMTP of Ruby': plain('ruby', program('net-smtp.rb')),
  'mail gem of Ruby': plain('ruby', program('mail-gem.rb')),
  lettre: async (folder) => {
    await cp(program('lettre.rs'), join(folder, 'lettre.rs'))
    await writeFile(join(folder, 'Cargo.toml'), LETTRE)
    await run('cargo', ['build', '--quiet'], { cwd: folder })
    return () => [join(folder, 'target/debug/program')]
  },
}

/** A message as a program writes it that leaves the rest to its mail server. */
export const contentOf = ({ from, to, subject }: Pick<Mail, 'from' | 'to' | 'subject'>) =>
  `From: ${from}\r\nTo: ${to.join(',\r\n ')}\r\nSubject: ${subject}\r\n\r\nShipped.\r\n`

/** Runs a command with a message, and returns the lines that it printed. */
export async function send(command: readonly string[], mail: Mail): Promise<string[]> {
  const { port, key, from, to, subject, authorityFile } = mail
  const content = join(authorityFile, `../${subject}.eml`)
  await writeFile(content, contentOf(mail))
  const own = { PORT: String(port), VERDICT_API_KEY: key, FROM: from, TO: to.join(','), SUBJECT: subject }
  const trust = { SSL_CERT_FILE: authorityFile, NODE_EXTRA_CA_CERTS: authorityFile, CONTENT: content }
  const [name, ...args] = command
  const child = spawn(name!, args, { env: { ...process.env, ...own, ...trust }, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text) => {
      output[stream] += text
    })
  }
  const [status] = await once(child, 'close')
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}\n${output.stdout}${output.stderr}`)
  return output.stdout.trim().split('\n')
}

export async function build(name: string, folder: string) {
  const place = join(folder, name.replaceAll(/\W+/g, '-'))
  await mkdir(place)
  return CLIENTS[name]!(place)
}
