import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { type Config, readConfig } from '../../server/config/config.ts'
import { VARIABLES, type Variable } from '../../server/config/variables.ts'
import { CERTIFICATE } from '../harness/certificates.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { environmentOf, readDockerfile } from './dockerfile.ts'

export const VERSION = packageJson.version
const SECRETS = Object.values(VARIABLES).filter((variable: Variable<unknown>) => variable.secret)
const SAMPLES: Record<string, string> = {
  DATABASE_URL: 'postgres://verdict:secret@postgres:5432/verdict',
  ENCRYPTION_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
}

/** Samples of the files that are on the machine. */
const TLS_SAMPLES: Record<string, string> = {
  SMTP_FRONT_CERT_FILE: CERTIFICATE.cert,
  SMTP_FRONT_KEY_FILE: CERTIFICATE.key,
}

/** What the image sets for every process in it. */
export const imageEnvironment = () => environmentOf(readDockerfile().at(-1)!)

/**
 * The configuration that a process reads from this environment. Secrets are in files of the machine that it runs on:
 * samples take their place. Throws at a fault, and at a name that is no variable of the product.
 */
export function configOf(env: Record<string, string>): Config {
  const known = new Set(Object.values(VARIABLES).map(({ name }) => name))
  const inPlace = Object.entries(env).map(([name, value]) => {
    if (name in TLS_SAMPLES) return [name, fileWith(TLS_SAMPLES[name]!)]
    const secret = SECRETS.find((variable) => name === `${variable.name}_FILE`)
    return secret ? [secret.name, SAMPLES[secret.name]!] : [name, value]
  })
  const unknown = inPlace.map(([name]) => name!).filter((name) => !known.has(name))
  if (unknown.length > 0) throw new Error(`no variable of the product: ${unknown.join(', ')}`)
  const result = readConfig(Object.fromEntries(inPlace))
  if ('faults' in result) throw new Error(result.faults.map(({ name, why }) => `${name} ${why}`).join('; '))
  return result.config
}

function fileWith(text: string): string {
  const file = join(temporaryFolder(), 'sample')
  writeFileSync(file, text)
  return file
}

/** How long a process may take from SIGTERM to its end. */
export const stopMs = ({ drainGraceMs, drainMs }: Config) => drainGraceMs + drainMs

/**
 * The programs of `npm run api`, `worker` and `migrate`, as the packages start them. What npm loads before them keeps
 * compiled modules on the disk, where the processes of a package cannot write.
 */
export const COMMANDS = { api: commandOf('api'), worker: commandOf('worker'), migrate: commandOf('migrate') }

function commandOf(name: 'api' | 'worker' | 'migrate'): string {
  return packageJson.scripts[name].replace(/^exec /, '').replace(/ --import \S+/, '')
}

/** Whether a reference to an image names one version for ever: at least major and minor, or a digest. */
export const isFixed = (image: string) => /:v?\d+\.\d+(\.\d+)?(-[\w.]+)?$|@sha256:[0-9a-f]{64}$/.test(image)

export const read = (file: string) => readFileSync(file, 'utf8')
