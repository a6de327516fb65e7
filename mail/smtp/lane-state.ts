import type { Host, Site } from './attempt.ts'
import type { WireContent } from './content.ts'
import type { Deadlines, SiteLimits } from './engine-limits.ts'
import type { OwnTime } from './own-time.ts'
import type { QueuedRecipient, RecipientQueue } from './recipient-queue.ts'
import type { Session, SessionOptions } from './session.ts'
import type { Place } from './site-connections.ts'
import type { createSlowSites } from './slow-sites.ts'
import type { PhaseReport, Stopwatch } from './stopwatch.ts'

/** One message to the recipients of one domain at a site. */
export interface DomainMail {
  site: Site
  sourceAddress?: string
  sender: string
  /** As in `Delivery`. */
  from?: readonly string[]
  content: WireContent
  deadlines: Deadlines
  /** How long a host may take for a reply before it has proved to be alive. */
  commandMs: number
  /** The number of the next transaction of the message, where it has several recipients. */
  nextTransaction(): number | undefined
}

/** What the lanes of one delivery share. */
export interface LaneTools extends DomainMail {
  limits: SiteLimits
  opening: SessionOptions
  slowSites: ReturnType<typeof createSlowSites>
  queue: RecipientQueue
  own: OwnTime
  /** The most recipients of a transaction that the server was seen to take. */
  atATime: number
  /** The lanes that are in a transaction. */
  transacting: number
  /** Permission was refused: no further transaction begins. */
  isStopped: boolean
  /** As in `Delivery`. */
  beforeDot(recipients: QueuedRecipient[]): Promise<boolean>
  /** The caller's signal, until permission is asked for the first time. */
  signal(): AbortSignal | undefined
  phaseReport(host: Host): PhaseReport | undefined
  /** Reads the reply to the dot when it comes after the deadline. */
  waitForLateReply(session: Session): void
  /** Starts further lanes over free places of the site, until this many run. */
  spread(lanes: number): void
  /** Looks up the exchangers that `FURTHER` holds the place of. */
  further(): Promise<Host[]>
  /** Waits for a place, after the site has refused a connection because of their number. */
  nextPlace(): Promise<Place | undefined>
}

/** Transactions one after the other, over one connection at a time. */
export interface Lane {
  /** Its failures to connect count for the recipients that wait. A further lane just ends. */
  isFirst: boolean
  place?: Place
  session?: Session
  /** The session comes from the pool. */
  isReused: boolean
  /** The session was idle, and has not replied since. */
  isUnproven: boolean
  /** Has measured the opening of the session. */
  stopwatch?: Stopwatch
  hosts: Host[]
  mayRepeat: boolean
  mayWaitForPlace: boolean
  /** How many hosts were silent. */
  silent: number
}
