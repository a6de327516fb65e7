import type { DeliveryEvent } from '../db/delivery-event.ts'

/** An event, and its dispatch to one endpoint. Both ids are UUIDs. */
export interface DispatchedEvent extends DeliveryEvent {
  dispatchId: string
  endpointId: string
}

/** What makes the first attempts of the events that this process stores. */
export interface FirstAttempts {
  /** How long the attempts belong to this process; null leaves them to Temporal. */
  leaseMs: number | null
  /** Takes over an event that was stored with its dispatch a moment ago. Never waits, never throws. */
  offer(event: DispatchedEvent): void
}

export const LEFT_TO_TEMPORAL: FirstAttempts = { leaseMs: null, offer: () => {} }
