import type { Endpoint, WebhookHealth } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { DeliveryViews } from '../../attempts/delivery-views.tsx'
import { failureToneOf } from '../../attempts/endpoint-health.ts'
import { FactList } from '../../lists/fact-list.tsx'
import { countOf } from '../../numbers/quantities.ts'
import { present } from '../../present.ts'
import { Pill } from '../../status/status-pill.tsx'
import { Ago } from '../../time/ago.tsx'
import styles from '../settings.module.css'

/** Whether the endpoint acknowledges events. */
export function HealthSection({ endpoint }: { endpoint: Endpoint }) {
  const health = present(endpoint.health)
  return (
    <section className={styles.section} aria-label="Health">
      <div className={styles.health}>
        <HealthLine health={health} />
      </div>
      <FactList
        className={styles.facts}
        facts={[
          ['Acknowledged in 24 hours', countOf(health.acknowledged)],
          ['Failed in 24 hours', countOf(health.failed)],
          ['Waiting for an attempt', countOf(health.waiting)],
          ['Oldest waiting event', health.oldestWaitingAt ? <Ago key="oldest" at={health.oldestWaitingAt} /> : 'None'],
        ]}
      />
      <DeliveryViews endpointId={endpoint.endpointId} />
    </section>
  )
}

export function HealthLine({ health }: { health: WebhookHealth }) {
  const { consecutiveFailures: failures, lastSuccessAt, lastFailureAt } = health
  const failure = failureToneOf({ failedSince: failures, hasAcknowledged: lastSuccessAt !== undefined })
  if (failure) {
    return (
      <>
        <Pill tone={failure} word="Failing" />
        <span>
          {countOf(failures)} {failures === 1 ? 'attempt has' : 'attempts have'} failed since an event was last
          acknowledged
          {lastFailureAt && (
            <>
              , most recently <Ago at={lastFailureAt} />
            </>
          )}
          .
        </span>
      </>
    )
  }
  if (!lastSuccessAt) {
    return (
      <>
        <Pill tone="neutral" word="Not used yet" />
        <span>No event was pushed to this endpoint.</span>
      </>
    )
  }
  return (
    <>
      <Pill tone="delivered" word="Healthy" />
      <span>
        The endpoint last acknowledged an event <Ago at={lastSuccessAt} />.
      </span>
    </>
  )
}
