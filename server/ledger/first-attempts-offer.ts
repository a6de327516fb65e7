import type { DeliveryEvent } from '../db/delivery-event.ts'

/** What makes the first attempts of the events that this process stores. */
export interface FirstAttempts {
  /** How long the attempts belong to this process; null leaves them to Temporal. */
  leaseMs: number | null
  /** Takes over an event that was stored with its dispatch a moment ago. Never waits, never throws. */
  offer(event: DeliveryEvent): void
}

export const LEFT_TO_TEMPORAL: FirstAttempts = { leaseMs: null, offer: () => {} }
