import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { startApiProcess } from '../../harness/process.ts'
import { atEnd } from '../../harness/until-end.ts'
import { letRun } from '../../harness/waits.ts'
import { startFaultWorld, type WorldOptions } from '../world.ts'
import type { FromVictim, Sample, ToVictim } from './victim-process.ts'

const PROGRAM = fileURLToPath(new URL('victim-process.ts', import.meta.url))
/**
 * The domain of the victim's mail server. It also accepts the attacker's mail, as slowly as `victim-process.ts` says.
 */
export const VICTIM_MAIL = 'victim.example'

/** What the victim measured. */
export interface Measurements {
  sends: Times
  /** The time from the response to a send until the POST of its event. */
  firstAttempts: Times
  healthz: Times
}

export interface Times {
  count: number
  /** All times are milliseconds. */
  p50: number
  p99: number
  max: number
  /** Why requests failed, one entry for each failure. */
  faults: string[]
}

export interface Comparison {
  /** Without the attack. */
  calm: Measurements
  attacked: Measurements
}

/** A limit of harm: the p99 under attack is at most `factor` times the calm p99, plus `plusMs`. */
export interface Bar {
  factor: number
  plusMs: number
}

/**
 * Generous, so that a busy machine passes. Each attack in this folder made the victim of an earlier version wait for
 * seconds.
 */
const BARS: Record<keyof Measurements, Bar> = {
  sends: { factor: 3, plusMs: 500 },
  firstAttempts: { factor: 3, plusMs: 500 },
  healthz: { factor: 3, plusMs: 250 },
}

/**
 * Starts a world in which one account attacks another one: one API process without proxies, the attacker's account
 * (`example.test`, with the mail servers of the world) and the victim in a separate process. Each second the victim
 * sends 10 emails and requests `/healthz` 20 times. It also receives its webhooks.
 */
export async function startVictimWorld(options: WorldOptions = {}) {
  const child = fork(PROGRAM, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the victim ended with ${code}`)
  })
  ended.catch(() => {})
  const tell = (message: ToVictim) => void child.send(message)
  const { mailPort, hookUrl: victimHook } = await nextMessage<{ mailPort: number; hookUrl: string }>()

  const world = await startFaultWorld({ mail: {}, ...options })
  const account = await world.openAccount('victim.test')
  const places = Array.from(world.servers, ([domain, { port }]) => `${domain}=127.0.0.1:${port}`)
  const api = await startApiProcess({
    DATABASE_URL: world.database.url,
    LOG_LEVEL: 'warn',
    WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
    SMTP_ROUTES: [`${VICTIM_MAIL}=127.0.0.1:${mailPort}`, ...places].join(),
    ...world.env,
  })
  let isWarm = false
  tell({ begin: { url: api.url, key: account.key, from: 'hello@victim.test', domain: VICTIM_MAIL } })
  await nextMessage()

  async function nextMessage<T extends FromVictim>(): Promise<T> {
    const [message] = await Promise.race([once(child, 'message'), ended])
    return message as T
  }

  /**
   * Measures the victim until `calm` resolves, waits for all its requests, and does the same with `attack`.
   * `calm` is 5 s without other load, unless the test has the same load without its attack. The first comparison warms
   * the service up; each of the others waits until nothing is left of the one before. It prints both measurements.
   */
  async function compare(
    attack: () => Promise<unknown>,
    calm: () => Promise<unknown> = () => letRun(5_000),
  ): Promise<Comparison> {
    if (!isWarm) {
      await measure(() => letRun(6_000))
      isWarm = true
    } else await expect.poll(openWork).toBe(0)
    const comparison = { calm: await measure(calm), attacked: await measure(attack) }
    console.log(JSON.stringify(comparison, (_, value) => (typeof value === 'number' ? Math.round(value) : value)))
    return comparison
  }

  async function measure(act: () => Promise<unknown>): Promise<Measurements> {
    tell({ measure: true })
    await act()
    tell({ report: true })
    const { samples } = await nextMessage<{ samples: Sample[] }>()
    const times = (kind: Sample['kind']) => timesOf(samples.filter((one) => one.kind === kind))
    return { sends: times('send'), firstAttempts: times('firstAttempt'), healthz: times('healthz') }
  }

  /** The number of sends and of first attempts in progress, of any account. */
  async function openWork(): Promise<number> {
    const [row] = await world.sql`
      select (select count(*) from open_messages)::int
        + (select count(*) from open_dispatches where lease_until > clock_timestamp())::int as count`
    return row!.count
  }

  async function stop(): Promise<void> {
    const exit = child.exitCode === null ? once(child, 'exit') : undefined
    if (child.connected) child.disconnect()
    await Promise.all([exit, api.kill('SIGKILL')])
    await world.stop()
  }
  atEnd(stop)

  return { world, api, attacker: world.account, victim: { ...account, hookUrl: victimHook }, compare }
}

export type VictimWorld = Awaited<ReturnType<typeof startVictimWorld>>

/** How the victim was harmed. Empty when all bars hold and no request failed. */
export function harm({ calm, attacked }: Comparison, bars: Partial<Record<keyof Measurements, Bar>> = {}): string[] {
  return (Object.keys(BARS) as (keyof Measurements)[]).flatMap((kind) => {
    const { factor, plusMs } = bars[kind] ?? BARS[kind]
    const { count, p99, faults } = attacked[kind]
    const most = calm[kind].p99 * factor + plusMs
    const slow = p99 > most ? [`${kind}: p99 ${p99.toFixed(0)} ms, at most ${most.toFixed(0)} ms are allowed`] : []
    const few = count === 0 ? [`${kind}: there were none`] : []
    const failures = faults.length > 0 ? [`${kind}: ${faults.length} of ${count} failed, first: ${faults[0]}`] : []
    return [...few, ...slow, ...failures]
  })
}

function timesOf(samples: Sample[]): Times {
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  const faults = samples.flatMap(({ fault }) => fault ?? [])
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1), faults }
}
