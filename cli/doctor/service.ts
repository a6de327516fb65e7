import type { CheckFinding, DoctorCheck } from './check.ts'
import { failure, ok, skipped, warning, worstOf } from './check.ts'

const ANSWER_MS = 5_000
/** A proxy spreads them over the processes behind it. */
const REQUESTS = 4
/** What a proxy says of a process behind it that it cannot reach. */
const FROM_PROXY = [502, 504]

const readyz: DoctorCheck = {
  name: 'readyz',
  about: 'the service answers at `PUBLIC_URL`, and `/readyz` says that it is ready',
  reads: ['PUBLIC_URL'],
  async run({ config: { publicUrl } }) {
    if (publicUrl === undefined) return skipped('PUBLIC_URL is not set')
    const url = `${publicUrl.replace(/\/$/, '')}/readyz`
    const findings = await Promise.all(Array.from({ length: REQUESTS }, () => ask(url)))
    const silent = findings.filter((finding) => finding === SILENT).length
    if (silent === 0) return worstOf(findings)
    if (silent === REQUESTS) return unreachable(url, SILENT.seen)
    return failure(
      `${silent} of ${REQUESTS} requests to ${url} got ${SILENT.seen}: a process of the API hangs`,
      'Find it by /healthz of each process, and kill it. What started it starts it again.',
    )
  },
}

const SILENT: CheckFinding = { state: 'warning', seen: `no response within ${ANSWER_MS / 1_000} s` }

async function ask(url: string): Promise<CheckFinding> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS) })
    return readinessFinding(url, response.status, await response.text())
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') return SILENT
    const reason = reasonOf(error as Error)
    // The check `certificate` says what is wrong with it.
    if (/CERT|^ERR_TLS|^ERR_SSL/.test(reason)) return skipped(`could not be tried: the certificate (${reason})`)
    return unreachable(url, reason)
  }
}

const unreachable = (url: string, reason: string) =>
  warning(
    `${url} does not answer this machine (${reason})`,
    'Check that the API and the proxy before it run, and that this machine may reach its own public name.',
  )

export const SERVICE_CHECKS = [readyz]

/** Judges the response of `/readyz`, which may come from a proxy. */
export function readinessFinding(url: string, status: number, body: string): CheckFinding {
  if (status === 200) return closedWay(body) ?? ok(`${url} says ready`)
  if (status === 503)
    return failure(
      `${url} says that it is not ready: ${faultyChecks(body)}`,
      'The checks of this report say why. The log of the API has the cause.',
    )
  const seen = `${url} answers ${status}`
  return FROM_PROXY.includes(status)
    ? failure(
        `${seen}: the proxy reaches no API process, and no mail is accepted`,
        'Start the API. Its log says why it ended.',
      )
    : failure(seen, 'Check that PUBLIC_URL leads to this service.')
}

/** The way out is closed, as seen from the process that responded. */
function closedWay(body: string): CheckFinding | undefined {
  const { mail = 'ok' } = checksOf(body) ?? {}
  if (mail === 'ok') return undefined
  return warning(
    `the API is ready, and no mail leaves: of late all mail servers were ${mail}`,
    "Look at the check `port_25`, this machine's firewall, and proxies on the way out.",
  )
}

/** The checks that are not ok, such as `database: failing`. */
function faultyChecks(body: string): string {
  const states = Object.entries(checksOf(body) ?? {})
  if (states.length === 0) return body.slice(0, 100)
  return states.flatMap(([name, state]) => (FINE.includes(state) ? [] : `${name}: ${state}`)).join(', ')
}

function checksOf(body: string): Record<string, string> | undefined {
  try {
    return JSON.parse(body).checks
  } catch {
    return undefined
  }
}

const FINE = ['ok', 'no', 'polling']

/** What `fetch` failed with: its own message only says that it did. */
function reasonOf({ message, cause }: Error): string {
  const { code, message: why } = (cause ?? {}) as NodeJS.ErrnoException
  return code ?? why ?? message
}
