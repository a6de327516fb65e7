import { X509Certificate } from 'node:crypto'
import type { WatchedResolver } from '../../mail/dns/resolver.ts'
import type { WatchedEngine } from '../../mail/smtp/attempt.ts'
import { SHOWN_BY_SERVERS } from '../../mail/smtp/shown.ts'
import type { PolicyOf } from '../../mail/smtp/sts-policies.ts'
import type { Database } from '../db/connect.ts'
import type { Replicas } from '../db/replicas.ts'
import type { Workflows } from '../webhooks/queue/workflows.ts'
import { keepFresh } from './fresh.ts'
import type { Metrics } from './metrics.ts'

// How the state of each part becomes a metric.

export function watchDatabase(metrics: Metrics, { load }: Database): void {
  metrics.databaseConnections.read(() => [
    [{ state: 'open' }, load.open],
    [{ state: 'limit' }, load.limit],
  ])
  metrics.statementsRunning.read(() => [[{}, load.statements]])
}

/** Shows whether sends can be stored. */
export function watchWrites(metrics: Metrics, { recording, health }: Database, probe: { state(): string }): void {
  metrics.recordWaiting.read(() => [[{}, recording.waitingMs() / 1_000]])
  metrics.writesOk.read(() => [[{}, probe.state() === 'ok' ? 1 : 0]])
  metrics.diskFull.read(() => [[{}, health.isFull() ? 1 : 0]])
}

export function watchReplicaStates(metrics: Pick<Metrics, 'replicas' | 'replicaLag'>, { all }: Replicas): void {
  metrics.replicas.read(() => all.map(({ state }) => [{ state }, 1]))
  metrics.replicaLag.read(() => {
    const lags = all.flatMap(({ lagMs }) => lagMs ?? [])
    return lags.length === 0 ? [] : [[{}, Math.max(...lags) / 1_000]]
  })
}

/** Creates what the batches of a shared statement are noted with. */
export function createBatchCounter({ batchRows, statementSeconds }: Pick<Metrics, 'batchRows' | 'statementSeconds'>) {
  return (statement: string) => {
    const labels = { statement }
    return (rows: number, seconds: number) => {
      batchRows.observe(labels, rows)
      statementSeconds.observe(labels, seconds)
    }
  }
}

export function watchEngine(metrics: Metrics, engine: WatchedEngine): void {
  metrics.smtpConnections.read(() => {
    const { inUse, idle, late } = engine.load()
    return [
      [{ state: 'in_use' }, inUse],
      [{ state: 'idle' }, idle],
      [{ state: 'late' }, late],
    ]
  })
  metrics.smtpWaiting.read(() => [[{}, engine.load().waiting]])
  metrics.smtpLacking.read(() => {
    const lacking = engine.lacking()
    return SHOWN_BY_SERVERS.map((lack) => [{ lack }, lacking.includes(lack) ? 1 : 0])
  })
}

export function watchResolver(metrics: Metrics, resolver: WatchedResolver): void {
  metrics.dnsLookUps.read(() => {
    const { inUse, waiting } = resolver.load()
    return [
      [{ state: 'in_use' }, inUse],
      [{ state: 'waiting' }, waiting],
    ]
  })
}

/** What a resolver reports its answers to. */
export function createAnswerCounter({ dnsAnswers }: Pick<Metrics, 'dnsAnswers'>) {
  return (type: string, source: string, result: string) => dnsAnswers.add({ type, source, result })
}

export function countPolicies(policyOf: PolicyOf, { stsPolicies }: Pick<Metrics, 'stsPolicies'>): PolicyOf {
  return async (domain, request) => {
    const policy = await policyOf(domain, request)
    stsPolicies.add({ mode: policy === 'no_slot' ? policy : (policy?.mode ?? 'absent') })
    return policy
  }
}

export function countWorkflows(
  workflows: Workflows,
  { workflowsStarted }: Pick<Metrics, 'workflowsStarted'>,
): Workflows {
  return {
    ...workflows,
    async start(group) {
      await workflows.start(group)
      workflowsStarted.add({ kind: group.kind === 'replay' ? 'replay' : 'retries' })
    },
    async startReplay(...replay) {
      await workflows.startReplay(...replay)
      workflowsStarted.add({ kind: 'range_replay' })
    },
  }
}

/** Shows whether Temporal answers. */
export const watchTemporal = (metrics: Metrics, isThere: Question) => watchAnswer(metrics, metrics.temporalUp, isThere)

/** Shows whether this process should get calls. */
export const watchReadiness = (metrics: Metrics, isReady: Question) => watchAnswer(metrics, metrics.ready, isReady)

type Question = () => Promise<boolean>

/** Asks at scrapes, and shows 1 for yes. A question that fails is answered no. */
function watchAnswer(metrics: Metrics, gauge: Metrics['temporalUp' | 'ready'], ask: Question): void {
  const fresh = keepFresh<boolean | undefined>(() => ask().catch(() => false), undefined)
  metrics.refresh(fresh.renew)
  gauge.read(() => (fresh.value() === undefined ? [] : [[{}, fresh.value() ? 1 : 0]]))
}

/** The open connections of the SMTP front. */
export function watchSmtpFront(
  { smtpFrontConnections }: Pick<Metrics, 'smtpFrontConnections'>,
  connections: () => number,
): void {
  smtpFrontConnections.read(() => [[{}, connections()]])
}

/** Shows when the first of the certificates expires. */
export function watchCertificates(
  { certificateEnd }: Pick<Metrics, 'certificateEnd'>,
  certificates: readonly ({ pair: { cert: string } } | undefined)[],
): void {
  const given = certificates.filter((certificate) => certificate !== undefined)
  if (given.length === 0) return
  const endOf = (pem: string) => Date.parse(new X509Certificate(pem).validTo) / 1_000
  certificateEnd.read(() => [[{}, Math.min(...given.map(({ pair }) => endOf(pair.cert)))]])
}
