import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'
import { idOf } from './postfix.ts'

/** Starts Debian's postgrey, which Postfix asks at RCPT. It accepts a known triplet after `delaySeconds`. */
export async function startPostgrey(delaySeconds: number): Promise<Daemon & { policy: string }> {
  const folder = await openFolder('postgrey')
  const port = await freePort()
  const data = join(folder, 'data')
  await mkdir(data)
  await chown(data, idOf('nobody', '-u'), idOf('nobody', '-g'))
  const options = [`--inet=127.0.0.1:${port}`, `--delay=${delaySeconds}`, `--dbdir=${data}`, '--syslog-facility=local7']
  const daemon = await startDaemon(['postgrey', ...options, '--user=nobody', '--group=nogroup'], { port })
  return { ...daemon, policy: `check_policy_service inet:127.0.0.1:${port}` }
}
