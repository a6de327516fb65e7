import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../dev/ports.ts'
import { installPostfix } from './debian.ts'
import { TEXT } from './sends.ts'
import type { Sink } from './sink.ts'
import { untilListening } from './until-listening.ts'

/** A program that Postfix passes each message through while it accepts it. */
export interface Milter {
  port: number
}

export interface Postfix extends AsyncDisposable {
  pid: number
  /** Submits messages over 20 connections. Resolves when the last has arrived at the sink. */
  relay(messages: number): Promise<void>
}

const run = promisify(execFile)
const ARRIVES_WITHIN_MS = 60_000

/**
 * Starts a Postfix of our own in a temporary folder, which relays to the sink. Its settings cause the least work for
 * each message and were the fastest of those tried: no recycling of processes, no connection cache.
 */
export async function startPostfix(sink: Sink, milter?: Milter): Promise<Postfix> {
  installPostfix()
  if (process.getuid?.() !== 0) throw new Error('Postfix as a peer needs root: run the bench as root.')
  const dir = mkdtempSync(join(tmpdir(), 'verdict-bench-postfix-'))
  chmodSync(dir, 0o755)
  const port = await freePort()
  configure(dir, port, sink.port, milter)
  const stop = () => {
    execFileSync('postfix', ['-c', join(dir, 'etc'), 'stop'], { stdio: 'ignore' })
    rmSync(dir, { recursive: true })
  }
  execFileSync('postfix', ['-c', join(dir, 'etc'), 'start'], { stdio: 'ignore' })
  process.once('exit', stop)
  await untilListening(port)

  return {
    pid: Number(readFileSync(join(dir, 'queue/pid/master.pid'), 'utf8')),
    async relay(messages) {
      const expected = (await sink.count()) + messages
      const load = [
        '-s',
        '20',
        '-d',
        '-m',
        String(messages),
        '-l',
        String(TEXT.length),
        '-f',
        'a@from.test',
        '-t',
        'b@to.test',
      ]
      await run('smtp-source', [...load, `127.0.0.1:${port}`])
      const deadline = performance.now() + ARRIVES_WITHIN_MS
      while ((await sink.count()) < expected) {
        if (performance.now() > deadline) throw new Error(`Postfix has ${countQueued(dir)} messages left in its queue`)
        await sleep(20)
      }
    },
    async [Symbol.asyncDispose]() {
      process.off('exit', stop)
      stop()
    },
  }
}

function configure(dir: string, port: number, sinkPort: number, milter?: Milter): void {
  for (const folder of ['etc', 'queue', 'data']) mkdirSync(join(dir, folder))
  const owner = Number(execFileSync('id', ['-u', 'postfix'], { encoding: 'utf8' }))
  chownSync(join(dir, 'data'), owner, -1)
  const installed = (name: string) => execFileSync('postconf', ['-dh', name], { encoding: 'utf8' }).trim()
  const settings = {
    compatibility_level: '3.6',
    daemon_directory: installed('daemon_directory'),
    command_directory: installed('command_directory'),
    shlib_directory: installed('shlib_directory'),
    meta_directory: installed('config_directory'),
    queue_directory: join(dir, 'queue'),
    data_directory: join(dir, 'data'),
    mail_owner: 'postfix',
    setgid_group: 'postdrop',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    myhostname: 'relay.test',
    mydestination: '',
    mynetworks: '127.0.0.0/8',
    alias_maps: '',
    alias_database: '',
    local_recipient_maps: '',
    smtpd_relay_restrictions: 'permit_mynetworks, reject',
    relayhost: `[127.0.0.1]:${sinkPort}`,
    max_use: '10000',
    smtp_connection_cache_on_demand: 'no',
    ...(milter && { smtpd_milters: `inet:127.0.0.1:${milter.port}`, milter_default_action: 'tempfail' }),
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`)
  writeFileSync(join(dir, 'etc/main.cf'), lines.join(''))
  // The installed services without a chroot, and with the relay's port instead of 25.
  const services = readFileSync(join(installed('config_directory'), 'master.cf'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/^smtp +inet .*/m, `127.0.0.1:${port} inet n - n - - smtpd`)
    .replace(/^((?:\S+ +){4})y /gm, '$1n ')
  writeFileSync(join(dir, 'etc/master.cf'), services)
}

function countQueued(dir: string): number {
  const queues = ['incoming', 'active', 'deferred'].map((queue) => join(dir, 'queue', queue))
  const entries = queues.flatMap((queue) => readdirSync(queue, { recursive: true, withFileTypes: true }))
  return entries.filter((entry) => entry.isFile()).length
}
