import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'

export interface Nsd extends Daemon {
  port: number
  /** The value for DNS_SERVERS. */
  address: string
}

/**
 * Starts a separate nsd for these zones: records by zone name, in the format of a zone file, without SOA and NS. It
 * refuses all other names. `prepare` may change a zone file before nsd reads it, such as sign it. `also` are further
 * loopback addresses, on which it listens on port 53.
 */
export async function startNsd(
  zones: Record<string, string>,
  { also = [], prepare }: { also?: string[]; prepare?(zone: string, file: string): Promise<void> } = {},
): Promise<Nsd> {
  const folder = await openFolder('nsd')
  const port = await freePort()
  const entries = Object.entries(zones).map(([name, records], i) => ({ name, records, file: `${i}.zone` }))
  for (const { name, records, file } of entries) {
    await writeFile(join(folder, file), zoneFile(name, records))
    await prepare?.(name, join(folder, file))
  }
  const configuration = join(folder, 'nsd.conf')
  await writeFile(
    configuration,
    settings(folder, port, also) + entries.map(({ name, file }) => zone(name, file)).join(''),
  )
  const daemon = await startDaemon(['nsd', '-d', '-c', configuration], { port })
  return { ...daemon, port, address: `127.0.0.1:${port}` }
}

function zoneFile(name: string, records: string): string {
  const origin = name === '.' ? '.' : `${name}.`
  const start = `$ORIGIN ${origin}\n$TTL 60\n@ SOA ns.invalid. hostmaster.invalid. 1 3600 600 86400 60\n@ NS ns.invalid.\n`
  return `${start}${records}\n`
}

function settings(folder: string, port: number, also: string[]): string {
  const addresses = [`127.0.0.1@${port}`, ...also.map((address) => `${address}@53`)]
  return `server:
  ${addresses.map((address) => `ip-address: ${address}`).join('\n  ')}
  server-count: 1
  username: ""
  pidfile: ""
  database: ""
  zonesdir: "${folder}"
  xfrdir: "${folder}"
  xfrdfile: "${folder}/xfrd.state"
  zonelistfile: "${folder}/zone.list"
remote-control:
  control-enable: no
`
}

function zone(name: string, file: string): string {
  return `zone:\n  name: "${name}"\n  zonefile: "${file}"\n`
}
