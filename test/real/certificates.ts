import { execFileSync } from 'node:child_process'

// openssl makes these certificates. They are valid for two days. Each is a pair of files: `<path>.pem` and
// `<path>.key`.

/** Makes a self-signed certificate. It is trusted only where it is configured as an authority. */
export function selfSigned(path: string, host: string): void {
  openssl(path, host)
}

export function signedBy(authority: string, path: string, host: string): void {
  openssl(
    path,
    host,
    '-CA',
    `${authority}.pem`,
    '-CAkey',
    `${authority}.key`,
    '-addext',
    'basicConstraints=critical,CA:false',
  )
}

function openssl(path: string, host: string, ...more: string[]): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${path}.key`]
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  const args = ['req', '-x509', '-days', '2', '-out', `${path}.pem`, ...key, ...names, ...more]
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
