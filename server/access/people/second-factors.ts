import type { Database } from '../../db/connect.ts'
import type { Sealer } from '../../db/encryption.ts'
import { one, run } from '../../db/statement.ts'
import { currentVersion, versionedKeys } from './signing-keys.ts'

// better-auth encrypts second factors of people with one key, derived from each of ENCRYPTION_KEYS. When a key is
// replaced, they are encrypted anew, as `reseal` does with the secrets of the service.

/** Counts all second factors, and those of which another key than the first has encrypted a part. */
export async function countSecondFactors(db: Database, sealer: Sealer): Promise<{ total: number; older: number }> {
  const statement = `select count(*)::int as total, (count(*) filter (where ${IS_OLDER}))::int as older from second_factors`
  return one(await run<{ total: number; older: number }>(db, statement, [headOf(sealer)]))
}

/**
 * Encrypts with the first key what other keys have encrypted, while the service runs: one that a person changes
 * meanwhile is left to the service. `faults` says which do not decrypt; they stay as they are.
 */
export async function reencryptSecondFactors(
  db: Database,
  sealer: Sealer,
): Promise<{ reencrypted: number; faults: string[] }> {
  const { symmetricDecrypt, symmetricEncrypt } = await import('better-auth/crypto')
  const keys = versionedKeys(sealer)
  const key = {
    keys: new Map(keys.map(({ version, value }) => [version, value])),
    currentVersion: currentVersion(sealer),
  }
  const anew = async (data: string) => symmetricEncrypt({ key, data: await symmetricDecrypt({ key, data }) })
  const faults: string[] = []
  let reencrypted = 0
  const rows = await run<Record<'id' | 'secret' | 'codes', string>>(
    db,
    `select id, secret, backup_codes as codes from second_factors where ${IS_OLDER} order by id`,
    [headOf(sealer)],
  )
  for (const { id, secret, codes } of rows) {
    const fresh = await Promise.all([anew(secret), anew(codes)]).catch(() => undefined)
    if (fresh) reencrypted += (await run(db, REPLACE, [id, secret, codes, ...fresh])).count
    else faults.push(`second_factors of ${id} is encrypted with a key that ENCRYPTION_KEYS does not name`)
  }
  return { reencrypted, faults }
}

/** The people whose second factor no key decrypts. They cannot sign in. */
export async function peopleWithLostFactors(db: Database, sealer: Sealer): Promise<string[]> {
  const heads = versionedKeys(sealer).map(({ version }) => `${PREFIX}${version}$`)
  const rows = await run<{ email: string }>(
    db,
    `select p.email from second_factors f join people p on p.id = f.person_id
      where not exists (select from unnest($1::text[]) head where starts_with(f.secret, head)) order by p.email`,
    [`{${heads}}`],
  )
  return rows.map(({ email }) => email)
}

const REPLACE = `
  update second_factors set secret = $4, backup_codes = $5 where id = $1 and secret = $2 and backup_codes = $3`

/** What better-auth encrypts begins with this, and the version of its key follows. */
const PREFIX = '$ba$'

const IS_OLDER = 'not (starts_with(secret, $1) and starts_with(backup_codes, $1))'

function headOf(sealer: Sealer): string {
  return `${PREFIX}${currentVersion(sealer)}$`
}
