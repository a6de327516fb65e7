import type { GetStatsResponse } from '../../gen/verdict/v1/stats_pb.ts'
import { countOf, percentOf } from '../numbers/quantities.ts'
import { present } from '../present.ts'

/** A figure of a range, beside that of the period before. */
export interface Figure {
  label: string
  value: string
  /** `+12 %`, or `-0.3 points` for a share; undefined when there is nothing to compare with. */
  change?: string
  /** Whether the change is for the worse. */
  isWorse: boolean
  /** The list of what it counts, and its filters. */
  page: 'messages' | 'events'
  search: Record<string, string>
}

/** The four figures of a range. */
export function figuresOf(now: GetStatsResponse, before: GetStatsResponse): Figure[] {
  const [totals, earlier] = [present(now.totals), present(before.totals)]
  return [
    {
      label: 'Sent',
      value: countOf(totals.sent),
      change: earlier.sent === 0 ? undefined : `${signed((totals.sent / earlier.sent - 1) * 100, 0)} %`,
      isWorse: false,
      page: 'messages',
      search: {},
    },
    {
      ...share('Delivered', totals.deliveryRate, earlier.deliveryRate, -1),
      page: 'messages',
      search: { status: 'delivered' },
    },
    {
      ...share('Bounced', totals.bounceRate, earlier.bounceRate, 1),
      page: 'messages',
      search: { status: 'bounced' },
    },
    // A complaint is an event of a message, whose status it leaves as it is.
    {
      ...share('Complaints', totals.complaintRate, earlier.complaintRate, 1),
      page: 'events',
      search: { feedback: 'complaint' },
    },
  ]
}

/** A share; `worse` is the sign of a change for the worse. */
function share(label: string, now: number | undefined, before: number | undefined, worse: 1 | -1) {
  const points = now === undefined || before === undefined ? undefined : (now - before) * 100
  return {
    label,
    value: now === undefined ? '-' : percentOf(now),
    change: points === undefined ? undefined : `${signed(points, 2)} points`,
    isWorse: points !== undefined && Math.round(points * worse * 100) > 0,
  }
}

function signed(value: number, digits: number): string {
  const rounded = Number(value.toFixed(digits))
  return rounded > 0 ? `+${rounded}` : String(rounded)
}

/** Reasons with their emails, the most frequent first. */
export const rankedReasons = (reasons: Record<string, number>): [reason: string, emails: number][] =>
  Object.entries(reasons)
    .filter(([, emails]) => emails > 0)
    .sort(([, a], [, b]) => b - a)
