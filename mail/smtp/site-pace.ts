// The pace of a site: how many connections it gets after it has refused one. One rule, for every address and site.

/** A site that has refused a connection, and gets fewer of them than its limit allows. */
export interface SitePace {
  /** The connections that the site gets for now. */
  places: number
  /** The messages a minute that it gets for now, where its limits have such a number. */
  perMinute?: number
  /** When the site refused a connection for the last time. */
  slowedAtMs: number
  /** When a place was added for the last time. */
  raisedAtMs: number
}

/** No place is added for this time after a refusal. */
const NO_RISE_MS = 600_000
/** Then one place is added for each of these spans in which a message succeeded. */
const RISE_EVERY_MS = 60_000

interface RefusedConnection {
  /** The connections that the site has accepted and that are open, without the refused one. */
  open: number
  /** When the refused connection was dialled. */
  dialledAtMs: number
  nowMs: number
}

/**
 * The pace after a refused connection. The first refusal leaves the places that the site has accepted; a later one
 * leaves half of them, and half of the messages a minute. A connection that was dialled before the last refusal is part
 * of the same burst, and changes nothing.
 */
export function slowed(
  pace: SitePace | undefined,
  { open, dialledAtMs, nowMs }: RefusedConnection,
  perMinute?: number,
): SitePace {
  if (pace && dialledAtMs < pace.slowedAtMs) return pace
  const times = { slowedAtMs: nowMs, raisedAtMs: nowMs }
  if (!pace) return { places: Math.max(1, open), perMinute, ...times }
  const halved = pace.perMinute && Math.max(1, Math.floor(pace.perMinute / 2))
  return { places: Math.max(1, Math.floor(pace.places / 2)), perMinute: halved, ...times }
}

/** The pace after the site has accepted a connection: it takes at least the number that is open. */
export function accepted(pace: SitePace, open: number): SitePace {
  return open > pace.places ? { ...pace, places: open } : pace
}

/** The share of the messages a minute that comes back with each place. */
const PER_MINUTE_STEP = 0.1

/** The pace after a message succeeded. Returns undefined when the site gets all that its limits allow again. */
export function succeeded(
  pace: SitePace,
  limits: { connections: number; perMinute?: number },
  nowMs: number,
): SitePace | undefined {
  if (nowMs - pace.slowedAtMs < NO_RISE_MS || nowMs - pace.raisedAtMs < RISE_EVERY_MS) return pace
  const places = Math.min(pace.places + 1, limits.connections)
  const most = limits.perMinute
  const perMinute = most && Math.min(most, (pace.perMinute ?? most) + Math.ceil(most * PER_MINUTE_STEP))
  const isWhole = places === limits.connections && perMinute === most
  return isWhole ? undefined : { ...pace, places, perMinute, raisedAtMs: nowMs }
}
