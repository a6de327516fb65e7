import { existsSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { sourceAddressFaults } from '../../server/config/source-addresses.ts'
import type { CheckFinding, DoctorCheck } from './check.ts'
import { failure, ok, skipped, warning } from './check.ts'

const sourceAddresses: DoctorCheck = {
  name: 'source_addresses',
  about: 'this machine has every address of `SMTP_SOURCE_ADDRESSES`',
  reads: ['SMTP_SOURCE_ADDRESSES'],
  async run({ config: { smtpSourceAddresses } }) {
    if (smtpSourceAddresses.length === 0) return ok('not set: the system chooses')
    const [fault] = await sourceAddressFaults(smtpSourceAddresses)
    if (!fault) return ok(smtpSourceAddresses.join(', '))
    return failure(
      `${fault.name} ${fault.why.replace(/\. .*/s, '')}: the API does not start`,
      'Remove them, or add them to an interface. Behind NAT, set SMTP_PUBLIC_ADDRESSES instead.',
    )
  },
}

/** The files of `npm start` in DATA_DIR that hold keys or passwords. */
const SECRETS = ['encryption.keys', 'keys.json', 'database.json']
const WRITE_BY_OTHERS = 0o022
const ANY_BY_OTHERS = 0o077

const dataDir: DoctorCheck = {
  name: 'data_dir',
  about: 'other users of the machine can neither write to `DATA_DIR` nor read its secrets',
  reads: ['DATA_DIR'],
  async run({ config: { dataDir } }) {
    const shown = shownPath(dataDir)
    const mode = await modeOf(dataDir)
    if (mode === undefined) return skipped(`${shown} does not exist: only npm start needs it`)
    if (mode & WRITE_BY_OTHERS)
      return failure(`other users can write to ${shown} (mode ${octal(mode)})`, `chmod go-w ${shown}`)
    for (const name of SECRETS) {
      const file = join(shown, name)
      const mode = await modeOf(join(dataDir, name))
      if (mode !== undefined && mode & ANY_BY_OTHERS)
        return failure(`other users can read the secrets in ${file} (mode ${octal(mode)})`, `chmod 600 ${file}`)
    }
    return ok(`${shown} is safe from other users (mode ${octal(mode)})`)
  },
}

/** Relative to the current folder, if it is inside. */
function shownPath(path: string): string {
  const inside = relative('', path)
  return inside.startsWith('..') ? path : inside || '.'
}

async function modeOf(path: string): Promise<number | undefined> {
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  return info && info.mode & 0o777
}

const octal = (mode: number) => `0${mode.toString(8)}`

const diskSpace: DoctorCheck = {
  name: 'disk_space',
  about: 'the disk of `DATA_DIR` has room',
  reads: ['DATA_DIR'],
  async run({ config: { dataDir } }) {
    const { bavail, blocks, bsize } = await statfs(existingPart(dataDir))
    return spaceFinding(bavail * bsize, blocks * bsize)
  },
}

/** The folder, or the nearest one above it that exists. */
function existingPart(path: string): string {
  return existsSync(path) ? path : existingPart(dirname(path))
}

const MEGABYTE = 1_000_000
const LEAST = 200 * MEGABYTE
const LITTLE = 2_000 * MEGABYTE

/** Judges the free part of a disk, both in octets. */
export function spaceFinding(free: number, total: number): CheckFinding {
  const seen = `${size(free)} of ${size(total)} are free`
  const wayOut = 'Free some space. A PostgreSQL whose disk is full refuses writes, and no mail is sent then.'
  if (free < LEAST) return failure(seen, wayOut)
  return free < LITTLE ? warning(seen, wayOut) : ok(seen)
}

const size = (octets: number) =>
  octets < 1_000 * MEGABYTE ? `${Math.floor(octets / MEGABYTE)} MB` : `${(octets / 1_000 / MEGABYTE).toFixed(1)} GB`

export const MACHINE_CHECKS = [sourceAddresses, dataDir, diskSpace]
