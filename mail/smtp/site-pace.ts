// The pace of a site: how many connections and messages it gets after it has refused one. One rule, for every address
// and site.

/** A site that has refused a connection or the rate of messages, and gets less than its limits allow. */
export interface SitePace {
  /** The connections that the site gets for now. */
  places: number
  /** The messages a minute that it gets for now, where its limits have such a number or it has refused their rate. */
  perMinute?: number
  /** The messages a minute that it gets at most since it refused their rate. */
  most?: number
  /** When the site refused for the last time. */
  slowedAtMs: number
  /** When a place was added for the last time. */
  raisedAtMs: number
}

/** No place is added for this time after a refusal. */
const NO_RISE_MS = 600_000
/** Then one place is added for each of these spans in which a message succeeded. */
const RISE_EVERY_MS = 60_000

interface Refused {
  /** The connections that the site has accepted and that are open, without a refused one. */
  open: number
  /** When the refused connection was dialled, or the refused message begun. */
  beganAtMs: number
  nowMs: number
  /** The messages that went to the site in the last minute, when it refused their rate and not a connection. */
  mailed?: number
}

/**
 * The pace after a refusal. The first refused connection leaves the places that the site has accepted; any other
 * refusal leaves half of them, and half of the messages a minute, at least one. What began before the last refusal is
 * part of the same burst, and changes nothing.
 */
export function slowed(pace: SitePace | undefined, refused: Refused, perMinute?: number): SitePace {
  const { open, beganAtMs, nowMs, mailed } = refused
  if (pace && beganAtMs < pace.slowedAtMs) return pace
  const times = { slowedAtMs: nowMs, raisedAtMs: nowMs }
  if (!pace && mailed === undefined) return { places: Math.max(1, open), perMinute, ...times }
  const most = pace?.most ?? (mailed === undefined ? undefined : Math.max(1, perMinute ?? mailed))
  const before = pace?.perMinute ?? perMinute ?? most
  return {
    places: half(pace?.places ?? open),
    ...(before !== undefined && { perMinute: half(before) }),
    ...(most !== undefined && { most }),
    ...times,
  }
}

const half = (number: number) => Math.max(1, Math.floor(number / 2))

/**
 * The pace after the site has accepted a connection: it takes at least the number that is open, unless it has refused
 * the rate of their messages.
 */
export function accepted(pace: SitePace, open: number): SitePace {
  return open > pace.places && pace.most === undefined ? { ...pace, places: open } : pace
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
  const most = limits.perMinute ?? pace.most
  const perMinute = most && Math.min(most, (pace.perMinute ?? most) + Math.ceil(most * PER_MINUTE_STEP))
  const isWhole = places === limits.connections && perMinute === most
  return isWhole ? undefined : { ...pace, places, perMinute, raisedAtMs: nowMs }
}
