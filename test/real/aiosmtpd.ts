import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../dev/ports.ts'
import { openFolder, startDaemon } from './daemon.ts'
import { type Maildirs, maildirs } from './maildirs.ts'

const run = promisify(execFile)

export interface Aiosmtpd extends Maildirs, AsyncDisposable {
  port: number
}

/** Starts aiosmtpd, whose mails all go into the mailbox `all`. PyPI has it. */
export async function startAiosmtpd(): Promise<Aiosmtpd> {
  const folder = await openFolder('aiosmtpd')
  const port = await freePort()
  await run('/usr/bin/python3', ['-m', 'venv', join(folder, 'python')])
  const requirements = resolve('test/real/aiosmtpd-requirements.txt')
  await run(join(folder, 'python/bin/pip'), ['install', '--quiet', '--no-deps', '--requirement', requirements])
  const python = join(folder, 'python/bin/python')
  const listen = ['-m', 'aiosmtpd', '--nosetuid', '--listen', `127.0.0.1:${port}`]
  const daemon = await startDaemon([python, ...listen, '-c', 'aiosmtpd.handlers.Mailbox', join(folder, 'all')], {
    port,
  })
  return {
    port,
    ...maildirs(folder),
    async [Symbol.asyncDispose]() {
      await daemon.stop()
      await rm(folder, { recursive: true })
    },
  }
}
