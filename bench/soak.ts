import { setTimeout as sleep } from 'node:timers/promises'
import { configure } from './load/endpoints.ts'
import { startHttpLoad } from './load/http.ts'
import { startPosts } from './load/posts.ts'
import { type Product, startProduct } from './load/product.ts'
import { startReceiver } from './load/receiver.ts'
import { startReconciled } from './load/reconciled.ts'
import { residentOf } from './load/resident.ts'
import { startRetryWorker, watchDispatches } from './load/retries.ts'
import { sendBody, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { startTemporal } from './load/temporal.ts'
import { atMost, median, percentile, type Report, type RunOptions } from './report.ts'

const MINUTES = 60
const SHARE_OF_FULL = 0.6
const STEP_S = 10
const KILL_EVERY_S = 300
/** Each kill is at another moment of a step. */
const KILL_WITHIN_MS = 5_000
const SCHEDULE = '0,5s,10s,20s'
const WARM_UP = 5_000
const MEASURED = 5_000
/** The quarters are compared. Each needs some steps. */
const LEAST_STEPS = 8
const BODIES = ['b@to.test', 'b@to.test', 'delivered@simulator.test', 'mailbox_does_not_exist@simulator.test'].map(
  (to) => sendBody(to),
)

/** What the callers saw in some seconds. */
interface Step {
  sends: number
  /** Without a response, because the process was killed. */
  cut: number
  failed: number
  p99Ms: number
  residentMb: number
  killed: boolean
}

/**
 * Two API processes at 60 % of their full rate, one of which is killed every five minutes, with webhooks, the simulator
 * and a sink. Beside them some sends a second are written down by their callers, mail server and receiver, and
 * reconciled at the end.
 */
export async function run({ minutes = MINUTES }: RunOptions): Promise<Report> {
  await using parts = new AsyncDisposableStack()
  const sink = parts.use(await startSink())
  const receiver = parts.use(await startReceiver())
  const temporal = parts.use(await startTemporal())
  const reconciled = parts.use(await startReconciled())
  const env = { TEMPORAL_ADDRESS: temporal.address, WEBHOOK_SCHEDULE: SCHEDULE }
  const product = parts.use(await startProduct(sink, { env, others: reconciled.mailServer }))
  await startRetryWorker(product, { temporalAddress: temporal.address, schedule: SCHEDULE }, parts)
  const dispatches = watchDispatches(product.databaseUrl, parts)
  await configure(product, 'PUT', receiver.url('bench'))
  await reconciled.open(product, SCHEDULE)
  let mortal = await product.startApi()
  const perSecond = Math.round(SHARE_OF_FULL * (await fullRate(product, mortal.port)))
  console.log(`${perSecond} sends a second for ${minutes} minutes`)

  const posts = parts.use(await startPosts())
  const steps: Step[] = []
  const pace = { events: perSecond * STEP_S, perSecond }
  const { key } = product
  const stepCount = Math.max(LEAST_STEPS, Math.round((minutes * 60) / STEP_S))
  const stepsToKill = Math.min(KILL_EVERY_S / STEP_S, Math.floor(stepCount / 2))
  const letters = reconciled.send(() => [product.port, mortal.port])
  while (steps.length < stepCount) {
    const killed = (steps.length + 1) % stepsToKill === 0
    const port = [product.port, mortal.port]
    const sends = posts.ask({ port, path: '/api/v1/emails/send', key, bodies: BODIES, pace })
    if (killed) {
      await sleep(Math.random() * KILL_WITHIN_MS)
      reconciled.note(mortal.port, 'killed')
      process.kill(mortal.pid, 'SIGKILL')
      mortal = await product.startApi()
    }
    const responses = await sends
    await receiver.take()
    const lived = responses.filter(({ port, status }) => port === product.port && status !== 0)
    steps.push({
      sends: responses.length,
      cut: responses.filter(({ status }) => status === 0).length,
      failed: responses.filter(({ status }) => status >= 500).length,
      p99Ms: percentile(
        lived.map(({ dueMs, respondedMs }) => respondedMs - dueMs),
        0.99,
      ),
      residentMb: residentOf(product.apiPid).residentMb,
      killed,
    })
    print(steps.length, steps.at(-1)!)
  }
  await letters.stop()
  await dispatches.untilDrained()
  const violations = await reconciled.verdict(product)
  return report(steps, perSecond, violations)
}

async function fullRate(product: Product, otherPort: number): Promise<number> {
  await using http = await startHttpLoad()
  const ask = (requests: number) =>
    http.ask({ ...sendRun(product, { connections: 64, requests }), port: [product.port, otherPort] })
  await ask(WARM_UP)
  return MEASURED / (await ask(MEASURED)).seconds
}

function print(number: number, { sends, cut, failed, p99Ms, residentMb, killed }: Step): void {
  const event = killed ? ', with a kill' : ''
  console.log(
    `${number * STEP_S} s: ${sends} sends, ${cut} cut, ${failed} failed, p99 ${p99Ms.toFixed(0)} ms, ${residentMb.toFixed(0)} MB${event}`,
  )
}

function report(steps: readonly Step[], perSecond: number, violations: number): Report {
  const sum = (of: (step: Step) => number) => steps.reduce((total, step) => total + of(step), 0)
  const quarter = (number: number, of: (step: Step) => number) => {
    const [from, to] = [number - 1, number].map((end) => Math.round((steps.length * end) / 4))
    return median(steps.slice(from, to).map(of))
  }
  const [sends, cut, failed] = [sum(({ sends }) => sends), sum(({ cut }) => cut), sum(({ failed }) => failed)]
  const residentMb = [2, 4].map((number) => quarter(number, (step) => step.residentMb))
  const p99Ms = [2, 4].map((number) => quarter(number, (step) => step.p99Ms))
  return {
    figures: {
      'sends/s': perSecond,
      sends,
      kills: sum(({ killed }) => Number(killed)),
      'sends cut by a kill': cut,
      'sends answered with 5xx': failed,
      'resident MB, second quarter': residentMb[0]!,
      'resident MB, last quarter': residentMb[1]!,
      'p99 ms, second quarter': p99Ms[0]!,
      'p99 ms, last quarter': p99Ms[1]!,
    },
    bars: [
      atMost('share of sends answered with 5xx', failed / sends, 0.0001),
      atMost(
        'sends cut without a kill',
        sum((step) => (step.killed ? 0 : step.cut)),
        0,
      ),
      atMost('resident size, last quarter relative to the second', residentMb[1]! / residentMb[0]!, 1.05),
      atMost('p99, last quarter relative to the second', p99Ms[1]! / p99Ms[0]!, 1.25),
      atMost('violations that the reconciler found', violations, 0),
    ],
  }
}
