import type { WaitLimit } from '../../net/fair-slots.ts'
import type { SiteLimits } from './engine-limits.ts'

/** A site as seen from one source address. */
export interface SiteOfAddress {
  /** Unique among the sites of this process: source address, site and demand of TLS. */
  key: string
  /** Empty when the system chooses it. */
  address: string
  /** The site without its demand of TLS. */
  name: string
  limits: SiteLimits
  /** Part of this process, such as the simulator: no other process sends to it. */
  isPrivate?: boolean
}

/** What a process does at a site at this moment. */
export interface SiteLoad {
  /** The connections that are open, being dialled or being closed. */
  open: number
  /** The connections that the site has accepted. */
  accepted: number
  /** The connections that it could use. */
  wanted: number
}

export interface SiteRefusal {
  /** When the connection was dialled or the message begun, on the clock of `performance.now()`. */
  beganAtMs: number
  /** The server's words. */
  reply: string
}

/**
 * The places of a site from one address, and when messages may go. Other processes may send from the same address:
 * what is said here holds for all of them together.
 */
export interface SitePlaces {
  /** How many connections may be open now. */
  count(): number
  /** Says what is open and wanted, whenever it changes. */
  need(load: SiteLoad): void
  /** The site has refused a connection because of the number of connections, or their rate. */
  refused(refusal: SiteRefusal): void
  /** The site has refused a message because of the rate of messages. */
  refusedRate(refusal: SiteRefusal): void
  /** A message was delivered. */
  succeeded(): void
  /** Resolves to true when one more message may go, and to false at the wait limit. */
  mayMail(request: WaitLimit): Promise<boolean> | true
  /** Gives all places back. */
  leave(): void
}

/** Begins to use a site. `onChange` is called when `count` has changed by itself. */
export type OpenSitePlaces = (site: SiteOfAddress, onChange: () => void) => SitePlaces
