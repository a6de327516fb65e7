import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { installPackages } from './debian.ts'
import type { Milter } from './postfix.ts'
import { startServer } from './server.ts'
import { untilListening } from './until-listening.ts'

export interface Opendkim extends Milter, AsyncDisposable {
  pid: number
}

/** Starts Debian's OpenDKIM, which signs mail of `from.test` as we do: RSA-2048, relaxed/relaxed. */
export async function startOpendkim(): Promise<Opendkim> {
  installPackages(['opendkim'], ['opendkim'])
  const dir = mkdtempSync(join(tmpdir(), 'verdict-bench-opendkim-'))
  const port = await freePort()
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(join(dir, 'key.pem'), privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  const settings = {
    Domain: 'from.test',
    Selector: 's',
    KeyFile: join(dir, 'key.pem'),
    Socket: `inet:${port}@127.0.0.1`,
    Mode: 's',
    Canonicalization: 'relaxed/relaxed',
    UserID: 'root',
    InternalHosts: '127.0.0.1',
    RequireSafeKeys: 'no',
    Syslog: 'no',
    Background: 'no',
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`)
  writeFileSync(join(dir, 'opendkim.conf'), lines.join(''))
  const server = await startServer('opendkim', ['-f', '-x', join(dir, 'opendkim.conf')], { dir })
  await untilListening(port)
  return {
    port,
    pid: server.pid,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      rmSync(dir, { recursive: true })
    },
  }
}
