import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { openFolder, startDaemon } from './daemon.ts'
import { type Maildirs, maildirs } from './maildirs.ts'
import { installRequirements } from './pythons.ts'

export interface Aiosmtpd extends Maildirs {
  port: number
}

/** Starts aiosmtpd, whose mails all go into the mailbox `all`. PyPI has it. */
export async function startAiosmtpd(): Promise<Aiosmtpd> {
  const folder = await openFolder('aiosmtpd')
  const port = await freePort()
  const programs = await installRequirements('test/real/aiosmtpd-requirements.txt', folder)
  const python = join(programs, 'python')
  const listen = ['-m', 'aiosmtpd', '--nosetuid', '--listen', `127.0.0.1:${port}`]
  await startDaemon([python, ...listen, '-c', 'aiosmtpd.handlers.Mailbox', join(folder, 'all')], {
    port,
  })
  return { port, ...maildirs(folder) }
}
