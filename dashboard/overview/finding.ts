import type { MessageSearch } from '../messages/message-filters.ts'
import type { Tone } from '../status/statuses.ts'

/** One thing that a person should know, and the page that shows it. */
export interface HealthFinding {
  tone: Tone
  sentence: string
  /** The words of a mail server that belong to it. */
  words?: string
  /** A page on which its operator can be asked. */
  askAt?: string
  page?: 'domains' | 'events' | 'settings/webhook' | 'settings/limits' | 'messages' | 'refused-sends'
  /** The filters of that page. */
  search?: MessageSearch
}
