import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startApiProcess } from '../../harness/process.ts'
import { startWorld, type WorldOptions } from '../world.ts'
import type { FromVictim, Sample, ToVictim } from './victim-process.ts'

const PROGRAM = fileURLToPath(new URL('victim-process.ts', import.meta.url))
/** Its server takes whatever an attacker sends there too, as slowly as `victim-process.ts` says. */
export const VICTIM_MAIL = 'victim.example'

/** What the victim saw in one phase. */
export interface Seen {
  sends: Times
  /** From the response of a send to the POST of its event. */
  firstAttempts: Times
  healthz: Times
}

export interface Times {
  count: number
  /** Milliseconds. */
  p50: number
  p99: number
  max: number
  /** Why some failed, one entry each. */
  faults: string[]
}

export interface Compared {
  /** Without the attack. */
  calm: Seen
  attacked: Seen
}

/** A bar: the p99 under attack is at most `factor` times the calm one plus `plusMs`. */
export interface Bar {
  factor: number
  plusMs: number
}

/** Generous, so that a busy machine passes: each attack of this set made its victim wait for seconds. */
const BARS: Record<keyof Seen, Bar> = {
  sends: { factor: 3, plusMs: 500 },
  firstAttempts: { factor: 3, plusMs: 500 },
  healthz: { factor: 3, plusMs: 250 },
}

/**
 * A world in which one account may attack another one: one API process without proxies, the attacker's account (`example.test`, with
 * the mail servers of the world) and the victim in a process of its own. The victim sends 10 emails and asks `/healthz` 20 times
 * a second, and receives its webhooks.
 */
export async function startVictimWorld(options: WorldOptions = {}) {
  const child = fork(PROGRAM, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const tell = (message: ToVictim) => void child.send(message)
  const { mailPort, hookUrl: victimHook } = await heard<{ mailPort: number; hookUrl: string }>()

  const world = await startWorld({ mail: {}, ...options })
  const account = await world.openAccount('victim.test')
  const places = Array.from(world.servers, ([domain, { port }]) => `${domain}=127.0.0.1:${port}`)
  const api = await startApiProcess({
    DATABASE_URL: world.database.url,
    LOG_LEVEL: 'warn',
    WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
    SMTP_ROUTES: [`${VICTIM_MAIL}=127.0.0.1:${mailPort}`, ...places].join(),
    ...world.env,
  })
  tell({ begin: { url: api.url, key: account.key, from: 'hello@victim.test', domain: VICTIM_MAIL } })
  await heard()

  async function heard<T extends FromVictim>(): Promise<T> {
    const died = once(child, 'exit').then(([code]) => {
      throw new Error(`the victim ended with ${code}`)
    })
    died.catch(() => {})
    const [said] = await Promise.race([once(child, 'message'), died])
    return said as T
  }

  /**
   * Measures the victim until `calm` resolves (alone for 8 s, unless the test has the same load without its attack), then until
   * `attack` resolves, and waits for all it asked. Before that the service is warmed up. Once for each world. Prints both.
   */
  async function compare(
    attack: () => Promise<unknown>,
    calm: () => Promise<unknown> = () => sleep(8_000),
  ): Promise<Compared> {
    tell({ phase: 'warm-up' })
    await sleep(6_000)
    tell({ phase: 'calm' })
    await calm()
    tell({ phase: 'attacked' })
    await attack()
    tell({ report: true })
    const { samples } = await heard<{ samples: Sample[] }>()
    const compared = { calm: seenIn('calm', samples), attacked: seenIn('attacked', samples) }
    console.log(JSON.stringify(compared, (_, value) => (typeof value === 'number' ? Math.round(value) : value)))
    return compared
  }

  async function stop(): Promise<void> {
    const gone = child.exitCode === null ? once(child, 'exit') : undefined
    if (child.connected) child.disconnect()
    await Promise.all([gone, api.kill('SIGKILL')])
    await world.stop()
  }

  return { world, api, attacker: world.account, victim: { ...account, hookUrl: victimHook }, compare, stop }
}

export type VictimWorld = Awaited<ReturnType<typeof startVictimWorld>>

/** Where the victim was harmed: empty when it was held to all bars, and nothing of it failed. */
export function harm({ calm, attacked }: Compared, bars: Partial<Record<keyof Seen, Bar>> = {}): string[] {
  return (Object.keys(BARS) as (keyof Seen)[]).flatMap((kind) => {
    const { factor, plusMs } = bars[kind] ?? BARS[kind]
    const { count, p99, faults } = attacked[kind]
    const most = calm[kind].p99 * factor + plusMs
    const slow = p99 > most ? [`${kind}: p99 ${p99.toFixed(0)} ms, at most ${most.toFixed(0)} ms are allowed`] : []
    const few = count === 0 ? [`${kind}: none were made`] : []
    const failed = faults.length > 0 ? [`${kind}: ${faults.length} of ${count} failed, first: ${faults[0]}`] : []
    return [...few, ...slow, ...failed]
  })
}

/** What a process uses of the machine. Linux alone. */
export async function usageOf(pid: number): Promise<{ residentBytes: number; peakBytes: number; cpuMs: number }> {
  const [status, stat] = await Promise.all([
    readFile(`/proc/${pid}/status`, 'utf8'),
    readFile(`/proc/${pid}/stat`, 'utf8'),
  ])
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024
  // After the name, which may hold spaces: utime and stime are the 14th and 15th field, in ticks of 10 ms.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const cpuMs = (Number(fields[11]) + Number(fields[12])) * 10
  return { residentBytes: kilobytes('VmRSS'), peakBytes: kilobytes('VmHWM'), cpuMs }
}

/** From now on `peakBytes` is that of what comes (proc_pid_clear_refs(5)). Linux alone. */
export const forgetPeak = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, '5')

function seenIn(phase: string, samples: Sample[]): Seen {
  const times = (kind: Sample['kind']) => timesOf(samples.filter((one) => one.phase === phase && one.kind === kind))
  return { sends: times('send'), firstAttempts: times('firstAttempt'), healthz: times('healthz') }
}

function timesOf(samples: Sample[]): Times {
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  const faults = samples.flatMap(({ fault }) => fault ?? [])
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1), faults }
}
