import type { DoctorCheck } from './check.ts'
import { failure, ok, warning } from './check.ts'

const variables: DoctorCheck = {
  name: 'variables',
  about: 'every variable is valid',
  run({ faults, config }) {
    if (faults.length === 0) return ok(`all valid, for ${config.production ? 'production' : 'development'}`)
    const wayOut = `For example: ${faults.map(({ example }) => example).join(', ')}`
    const isMissing = faults.some(({ name, why }) => name === 'DATABASE_URL' && why === 'must be set')
    return failure(
      faults.map(({ name, why }) => `${name} ${why}`).join('; '),
      isMissing ? `${wayOut}. Or start a development instance here: npm start` : wayOut,
    )
  },
}

const names: DoctorCheck = {
  name: 'names',
  about: 'no variable that is set and never read looks like a misspelt one, such as `BOUNCE_PROT`',
  run({ misspelt }) {
    return misspelt.length === 0 ? ok('no name looks misspelt') : warning(misspelt.join(' '), 'Rename or remove it.')
  },
}

const publicUrl: DoctorCheck = {
  name: 'public_url',
  about: '`PUBLIC_URL` is https in production',
  reads: ['PUBLIC_URL', 'NODE_ENV'],
  run({ config: { publicUrl, production } }) {
    if (publicUrl === undefined) return ok('not set: the address that the API listens on')
    if (!production || publicUrl.startsWith('https:')) return ok(publicUrl)
    return failure(
      `${publicUrl} is not https: API keys, passwords and messages travel in plain text`,
      'Serve TLS, by a proxy or by TLS_CERT_FILE and TLS_KEY_FILE, and set PUBLIC_URL to the https URL.',
    )
  },
}

export const CONFIGURATION_CHECKS = [variables, names, publicUrl]
