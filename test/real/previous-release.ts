import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import type { openAccount } from '../harness/account.ts'
import { PREVIOUS_RELEASE, unpackPreviousFiles } from '../releases.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface PreviousRelease {
  /** The folder of its files. */
  root: string
  /** Runs its `npm run migrate`. */
  migrate(databaseUrl: string): Promise<void>
  /** Creates an account in its own tables. */
  openAccount(databaseUrl: string, encryptionKeys: string, domain: string): ReturnType<typeof openAccount>
  remove(): Promise<void>
}

/** Releases of one minor version run beside each other. */
const isNeighbour = packageJson.version.startsWith(PREVIOUS_RELEASE.tag.replace(/^v(\d+\.\d+\.).*$/, '$1'))

/**
 * The release that runs beside this version: the previous one, unpacked from the history of this clone, when it has the
 * same minor version, and this version itself until there is one. Throws when the clone does not have it.
 */
export async function releaseBeside(): Promise<PreviousRelease> {
  const root = isNeighbour ? await unpackPreviousRelease() : ROOT
  return {
    root,
    migrate: (databaseUrl) => runMigrations(databaseUrl, root),
    async openAccount(databaseUrl, ENCRYPTION_KEYS, domain) {
      const args = ['--input-type=module', '--eval', OPEN_ACCOUNT]
      return JSON.parse(await runNode(args, { DATABASE_URL: databaseUrl, ENCRYPTION_KEYS, domain }, root))
    },
    remove: async () => {
      if (root !== ROOT) await rm(root, { recursive: true })
    },
  }
}

/** Unpacks the previous release with its packages, and returns its folder. */
export async function unpackPreviousRelease(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), `verdict-${PREVIOUS_RELEASE.tag}-`))
  unpackPreviousFiles(root)
  await installDependencies(root)
  return root
}

/** Runs the `npm run migrate` of a release, by default of this one. */
export async function runMigrations(DATABASE_URL: string, root = ROOT): Promise<void> {
  await runNode(['server/db/migrate.ts'], { DATABASE_URL }, root)
}

async function runNode(args: string[], env: NodeJS.ProcessEnv, cwd: string): Promise<string> {
  const { PATH } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env: { PATH, ...env } })
  return stdout
}

/** What `openAccount` of test/harness/account.ts does, with the release's own modules. */
const OPEN_ACCOUNT = `
  import { createAccount } from './server/directory/accounts.ts'
  import { createKey } from './server/access/api-keys.ts'
  import { SCOPES } from './server/access/scopes.ts'
  import { encryptionKeys } from './server/config/values.ts'
  import { createDatabaseClock } from './server/db/clock.ts'
  import { connect } from './server/db/connect.ts'
  import { createSealer } from './server/db/encryption.ts'
  import { createDomain } from './server/domains/domains.ts'

  const { DATABASE_URL, ENCRYPTION_KEYS, domain } = process.env
  const db = connect(DATABASE_URL)
  const sealer = createSealer(encryptionKeys(ENCRYPTION_KEYS))
  const clock = await createDatabaseClock(db)
  const { id } = await createAccount(db, clock, 'Test')
  const { key, apiKey } = await createKey(db, clock, { accountId: id, name: 'test', kind: 'live', scopes: SCOPES })
  await createDomain({ db, sealer, clock }, { accountId: id, name: domain, status: 'verified' })
  clock.stop()
  await db.$client.end()
  console.log(JSON.stringify({ id, key, keyId: apiKey.id, dkimKeys: [] }))`

/** Links the packages of this version when they are those of the release, and installs the release's own otherwise. */
async function installDependencies(root: string): Promise<void> {
  if (hasOurDependencies(root)) return symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  const npm = spawnSync('npm', ['ci', '--omit=dev', '--ignore-scripts'], { cwd: root, encoding: 'utf8' })
  if (npm.status !== 0) throw new Error(`npm ci of the previous release failed: ${npm.stderr}`)
}

/** Whether each package that the release names is installed here in the same version. Releases pin exact versions. */
function hasOurDependencies(root: string): boolean {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.entries(dependencies).every(([name, version]) => {
    const file = join(ROOT, 'node_modules', name, 'package.json')
    return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === version
  })
}
