import { execFileSync } from 'node:child_process'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'

/** Signs zones with `ldns-signzone`, each with its own key. */
export async function createSigner() {
  const folder = await openFolder('keys')
  const ldns = (command: string, ...args: string[]) => execFileSync(command, args, { cwd: folder, encoding: 'utf8' })
  const anchors: string[] = []

  async function sign(zone: string, file: string): Promise<void> {
    const key = ldns('ldns-keygen', '-a', 'ECDSAP256SHA256', '-k', zone).trim()
    anchors.push(join(folder, `${key}.key`))
    ldns('ldns-signzone', '-n', '-f', `${file}.signed`, file, key)
    await rename(`${file}.signed`, file)
  }

  /** Signs a zone and then changes a record, so that its signature is wrong. */
  async function signWrongly(zone: string, file: string): Promise<void> {
    await sign(zone, file)
    await writeFile(file, (await readFile(file, 'utf8')).replace(/\tMX\t10 /g, '\tMX\t11 '))
  }

  return { sign, signWrongly, anchors }
}

interface UnboundSetup {
  /** The zones, and the port of the server on loopback that has them. */
  zones: string[]
  port: number
  /** Files with the keys of signed zones. */
  anchors: string[]
  /** A further loopback address, on which it listens on port 53. */
  also: string
}

/** Starts a separate unbound that validates, and knows no server but the one on loopback. */
export async function startUnbound({ zones, port: serverPort, anchors, also }: UnboundSetup) {
  const folder = await openFolder('unbound')
  const port = await freePort()
  const configuration = join(folder, 'unbound.conf')
  await writeFile(
    configuration,
    `server:
  interface: 127.0.0.1@${port}
  interface: ${also}@53
  access-control: 127.0.0.0/8 allow
  do-daemonize: no
  do-ip6: no
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  val-log-level: 2
  module-config: "validator iterator"
  do-not-query-localhost: no
${anchors.map((file) => `  trust-anchor-file: "${file}"\n`).join('')}
remote-control:
  control-enable: no
${zones.map((zone) => `stub-zone:\n  name: "${zone}"\n  stub-addr: 127.0.0.1@${serverPort}\n`).join('')}`,
  )
  const daemon: Daemon = await startDaemon(['unbound', '-d', '-c', configuration], { port })
  return { ...daemon, address: `127.0.0.1:${port}` }
}
