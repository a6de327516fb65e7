/** The fields of an event in the service's responses that are printed as text. */
export interface StoredEvent {
  event_id: string
  event: string
  message_id: string
  status: string
  reason?: string
  feedback?: string
  detail?: string
  recipient: string
  timestamp: string
  tag?: string
  smtp?: { mx?: string; code?: number; reply?: string }
  attempts: number
  acknowledged_at?: string
}

/** The status of an outcome; for feedback also what was reported: `delivered, complaint`. */
export const statusOf = ({ status, feedback }: StoredEvent) => (feedback ? `${status}, ${feedback}` : status)
