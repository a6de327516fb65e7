import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'
import type { Place } from './mail-world.ts'

export interface HarakaSetup {
  /** The loopback address on which it listens. */
  address: string
  domain: string
  /** The one user, whose mailbox it fills. */
  user: string
}

const SOURCE = resolve('test/real/haraka')

/** Starts a separate Haraka, which stores each message as a file of the user's mailbox. */
export async function startHaraka({ address, domain, user }: HarakaSetup, { port, mailboxes }: Place): Promise<Daemon> {
  const folder = await openFolder('haraka')
  const inbox = join(mailboxes, user, 'new')
  await mkdir(inbox, { recursive: true })
  await cp(join(SOURCE, 'plugins'), join(folder, 'plugins'), { recursive: true })
  const root = installed()
  await mkdir(join(folder, 'config'))
  // It does not start a connection without this file of its own.
  await cp(join(root, 'config/connection.ini'), join(folder, 'config/connection.ini'))
  const config = {
    'smtp.ini': `listen=${address}:${port}\nnodes=0\n`,
    plugins: 'users\nqueue/test\n',
    me: `mail.${domain}\n`,
    'users.json': JSON.stringify({ domain, users: [user] }),
    loglevel: 'NOTICE\n',
  }
  for (const [name, text] of Object.entries(config)) await writeFile(join(folder, 'config', name), text)
  // The plugin `queue/test` writes to the folder of temporary files.
  const command = ['env', `TMPDIR=${inbox}`, process.execPath, join(root, 'bin/haraka'), '-c', folder]
  const daemon = await startDaemon(command, { address, port })
  return { ...daemon }
}

/** Returns the folder of Haraka. Installs it once for each lock file, with a rename at the end. */
function installed(): string {
  const lock = createHash('sha256')
    .update(readFileSync(join(SOURCE, 'package-lock.json')))
    .digest('hex')
    .slice(0, 12)
  const cache = cacheFolder(process.env)
  const folder = join(cache, `haraka-${lock}`)
  const path = join(folder, 'node_modules/haraka')
  if (existsSync(path)) return path
  mkdirSync(cache, { recursive: true })
  const unfinished = mkdtempSync(`${folder}-`)
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(SOURCE, name), join(unfinished, name))
  const npm = spawnSync('npm', ['ci', '--omit=optional', '--ignore-scripts'], { cwd: unfinished, encoding: 'utf8' })
  if (npm.status !== 0) throw new Error(`npm ci of Haraka failed: ${npm.stderr}`)
  rmSync(folder, { recursive: true, force: true })
  renameSync(unfinished, folder)
  return path
}
