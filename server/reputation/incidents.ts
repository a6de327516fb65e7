import { isAtLeast, type Kind } from '../../mail/smtp/attempt.ts'
import { RULES, readAs } from '../../mail/smtp/rules.ts'

// What an entry of the suppression list rests on. A reading of a reply may be wrong, so what we know of the address
// decides how much one refusal weighs: an address that took our mail is suppressed for good only when it is refused
// again, at another time. All refusals within a day are one incident, so a server's bad hour is one, too.

/** A reply or report about a mailbox or its space. */
export interface Refusal {
  kind: Kind
  /** Unix milliseconds. */
  atMs: number
}

/** What is known of an address when it is refused. */
export interface AddressHistory {
  /** The refusals of the last 90 days, in any order. */
  refusals: readonly Refusal[]
  /** The last delivery of the last 90 days that no late bounce returned, in Unix milliseconds: the proof of life. */
  lastDeliveredMs?: number
}

/** An entry that is due: the kind of the rule that holds, and for how many days; null is for good. */
export interface DueEntry {
  kind: Kind
  days: number | null
}

interface Rule extends DueEntry {
  /** The incident at which the address is suppressed, of those of this kind or a stronger one in the days before. */
  incident: number
  withinDays: number
  withoutProofOfLife?: true
}

export const SUPPRESSION_RULES: readonly Rule[] = [
  { kind: 'unknown', incident: 1, withinDays: 90, days: null, withoutProofOfLife: true },
  { kind: 'unknown', incident: 1, withinDays: 90, days: 7 },
  { kind: 'unknown', incident: 2, withinDays: 90, days: null },
  { kind: 'status', incident: 2, withinDays: 30, days: 30 },
  { kind: 'refused', incident: 2, withinDays: 30, days: 30 },
  { kind: 'full', incident: 3, withinDays: 30, days: 7 },
]

/** How long an unknown mailbox is suppressed that a provider refuses in a bad hour. */
export const BAD_HOUR_DAYS = 7

const DAY_MS = 86_400_000
const INCIDENT_MS = DAY_MS
/** How long refusals are kept, and a delivery proves that the address lives. */
export const KNOWN_DAYS = 90

/** The refusals in groups: all within 24 hours of the first one, with the strongest of their kinds. */
function incidentsOf(refusals: readonly Refusal[]): Refusal[] {
  const incidents: Refusal[] = []
  for (const { kind, atMs } of refusals.toSorted((a, b) => a.atMs - b.atMs)) {
    const last = incidents.at(-1)
    if (!last || atMs >= last.atMs + INCIDENT_MS) incidents.push({ kind, atMs })
    else if (isAtLeast(kind, last.kind)) last.kind = kind
  }
  return incidents
}

/** How an address is refused now. */
interface Circumstances {
  /**
   * When the refused message was sent: now, but for a report. One that was sent before an incident was over belongs to
   * it, whenever its report comes.
   */
  sentMs?: number
  /** The provider refuses addresses that exist: see bad-hours.ts. */
  isBadHour?: boolean
}

/** The entry that is due when an address is refused now: the longest of all rules that hold. */
export function dueEntry(
  kind: Kind,
  { refusals, lastDeliveredMs }: AddressHistory,
  nowMs: number,
  { sentMs = nowMs, isBadHour = false }: Circumstances = {},
): DueEntry | undefined {
  if (isBadHour && kind === 'unknown') return { kind, days: BAD_HOUR_DAYS }
  const sinceMs = lastDeliveredMs ?? 0
  const counted = refusals.filter(({ atMs }) => atMs > sinceMs && atMs > nowMs - KNOWN_DAYS * DAY_MS)
  const known = incidentsOf(counted)
  const over = known.filter(({ atMs }) => atMs + INCIDENT_MS <= sentMs)
  const current = known
    .slice(over.length)
    .reduce((strongest, one) => (isAtLeast(strongest.kind, one.kind) ? strongest : one), {
      kind,
      atMs: nowMs,
    })
  const incidents = [...over, { ...current, atMs: nowMs }]
  const due = SUPPRESSION_RULES.filter(
    (rule) =>
      isAtLeast(current.kind, rule.kind) &&
      !(rule.withoutProofOfLife && lastDeliveredMs !== undefined) &&
      incidents.filter((one) => isAtLeast(one.kind, rule.kind) && one.atMs > nowMs - rule.withinDays * DAY_MS).length >=
        rule.incident,
  )
  const longest = due.toSorted((a, b) => (b.days ?? Infinity) - (a.days ?? Infinity))[0]
  return longest && { kind: longest.kind, days: longest.days }
}

export const isAboutMailbox = (reason: string | null | undefined): boolean =>
  reason === 'mailbox_full' || reason === 'mailbox_does_not_exist'

/** The kind of a bounce that was read like this: `mailbox (unknown)`. Undefined where it is not about its address. */
export function kindOfReading(reason: string | undefined, readAs: string | undefined): Kind | undefined {
  return isAboutMailbox(reason) && readAs !== undefined ? KIND_OF_READING.get(readAs) : undefined
}

const KIND_OF_READING = new Map(
  RULES.flatMap(({ subject, name, kind }) => (kind ? [[readAs({ subject, row: name }), kind]] : [])),
)
