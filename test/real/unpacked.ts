import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { apt } from './packages.ts'

/** Mail servers that Debian does not install beside Postfix, and the purpose of each. They are only unpacked. */
const UNPACKED: Record<string, string> = {
  'exim4-daemon-light': 'a mail server with callouts',
  'exim4-base': 'its example configuration',
  opensmtpd: 'a mail server with limits for a session',
  'sendmail-bin': 'a mail server that sends by the service',
  'sendmail-cf': 'its macros',
  m4: 'expands them',
}
const FOLDER = join(cacheFolder(process.env), 'debian')

/** The path of a file of an unpacked package. */
export const unpackedFile = (name: string, path: string) => join(FOLDER, name, path)

/** Downloads and unpacks the packages, unless that is done, and prints the version of each. */
export function unpackPackages(): void {
  const missing = Object.keys(UNPACKED).filter((name) => !existsSync(unpackedFile(name, 'version')))
  // A new machine has no lists of packages.
  if (missing.length > 0) apt(['update', '-qq'])
  for (const name of missing) unpack(name)
  for (const [name, purpose] of Object.entries(UNPACKED)) {
    console.log(`  ${name} ${readFileSync(unpackedFile(name, 'version'), 'utf8')}: ${purpose}`)
  }
}

/** Unpacks to a temporary folder and then renames it, so that an interruption leaves no incomplete folder. */
function unpack(name: string): void {
  const download = mkdtempSync(join(tmpdir(), 'verdict-package-'))
  apt(['download', '-qq', '-o', 'APT::Sandbox::User=root', name], download)
  const [file = ''] = readdirSync(download)
  mkdirSync(FOLDER, { recursive: true, mode: 0o755 })
  const unfinished = mkdtempSync(`${join(FOLDER, name)}-`)
  execFileSync('dpkg-deb', ['--extract', join(download, file), unfinished])
  writeFileSync(join(unfinished, 'version'), file.split('_')[1]!)
  rmSync(download, { recursive: true })
  rmSync(join(FOLDER, name), { recursive: true, force: true })
  renameSync(unfinished, join(FOLDER, name))
}
