import { createReach, type Reach, type Reachable, type VisitOf } from '../../net/reach.ts'
import type { DanePolicy } from './dane.ts'

/** A server that shows something, and the way to it. `site` is its key without a demand of TLS. */
export interface ShowingServer extends Reachable {
  name: string
  port: number
  /** What its TLSA records demand. */
  dane?: DanePolicy
}

interface Dialled extends Pick<ShowingServer, 'site' | 'sourceAddress'> {
  host: Pick<ShowingServer, 'name' | 'port' | 'dane'>
}

/** The server at an address of the host that is dialled. */
export function serverAt(ip: string, { host, site, sourceAddress }: Dialled): ShowingServer {
  return { name: host.name, port: host.port, dane: host.dane, ip, site, sourceAddress }
}

export type WitnessVisit = VisitOf<ShowingServer>

/** What servers show one after the other. */
export const SHOWN_BY_SERVERS = [
  'connection',
  'greeting',
  'session',
  'tls',
  'certificate',
  'dane',
  'mail',
  'rcpt',
  'data',
] as const

export type Shown = Record<(typeof SHOWN_BY_SERVERS)[number], Reach<ShowingServer>>

export const createShown = (witnessPauseMs: number): Shown =>
  Object.fromEntries(SHOWN_BY_SERVERS.map((each) => [each, createReach<ShowingServer>(witnessPauseMs)])) as Shown
