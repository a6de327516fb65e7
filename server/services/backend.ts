import type { OperatorLimits } from '../config/limits.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import type { ReplicaRead } from '../db/replicas.ts'
import type { SendingHosts } from '../domains/records.ts'
import type { Breaker } from '../reputation/breaker.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { DeliveryView, LinkWorkflow, ViewedDeliveries, Workflows } from '../webhooks/queue/workflows.ts'

/** What services work with. The process hands the same one to all of them, and each declares what it uses of it. */
export interface Backend {
  db: Database
  /** Serves lists and statistics. The rows of the last moments may be missing. */
  read: ReplicaRead
  clock: DatabaseClock
  sealer: Sealer
  /** The limits of tiers, warm-up and the circuit breaker. */
  limits: OperatorLimits
  breaker: Breaker
  hosts: SendingHosts
  workflows: Workflows
  workflowLink: LinkWorkflow
  /** The views of deliveries in Temporal's UI; none when TEMPORAL_UI_URL is not set. */
  deliveryViews(deliveries: ViewedDeliveries): DeliveryView[]
  /** The base of Temporal's UI, without the final slash. */
  temporalUiUrl?: string
  tracing?: Tracing
  /** The sender of the mails of the house; undefined when the service sends none. */
  notifyFrom?: string
  about: { version: string; region: string }
  /** Where callers reach this server, without the last slash; called once it listens. */
  publicUrl(): string
}
