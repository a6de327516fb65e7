import type { Database } from '../server/db/connect.ts'
import { asc, gt } from '../server/db/drizzle.ts'
import type { SiteBook } from '../server/db/json-columns.ts'
import { siteBooks } from '../server/db/schema.ts'
import { command, type Print } from './command.ts'
import { withDatabase } from './database.ts'
import { shortTime, table } from './table.ts'

const HEADING = ['ADDRESS', 'SITE', 'IN USE', 'PLACES', 'MESSAGES', 'PER MINUTE', 'SLOWED SINCE', 'LAST REFUSAL']
const DAY_MS = 86_400_000

export const shapingCommand = (print: Print) =>
  command('shaping', 'verdict shaping', 'verdict shaping --json')
    .summary('Show what each sending address does at each site')
    .description(
      'Show each site that mail was sent to within a day, for each sending address: its limits, the places in use over all processes, since when it is slowed, and its last refusal of a connection.',
    )
    .action(async () => {
      const sites = await withDatabase(async (db, clock) => readSites(db, clock.now()))
      print({
        json: { sites: sites.map(view) },
        text: table(HEADING, sites.map(line), 'No mail was sent within a day.'),
      })
    })

interface ShownSite extends Pick<SiteBook, 'lastReply'> {
  address: string
  site: string
  /** Over all processes. */
  open: number
  held: number
  /** What the limits allow, or what is left of it while the site is slowed. */
  places: number
  perMinute?: number
  limits: SiteBook['limits']
  slowedSince?: Date
}

async function readSites(db: Database, nowMs: number): Promise<ShownSite[]> {
  const rows = await db
    .select()
    .from(siteBooks)
    .where(gt(siteBooks.changedAt, new Date(nowMs - DAY_MS)))
    .orderBy(asc(siteBooks.address), asc(siteBooks.site))
  return rows.map(({ address, site, book }) => {
    const { holders, limits, pace, slowedSinceMs, lastReply } = book
    const live = Object.values(holders).filter(({ untilMs }) => untilMs > nowMs)
    return {
      address,
      site,
      open: live.reduce((sum, holder) => sum + holder.open, 0),
      held: live.reduce((sum, holder) => sum + holder.places, 0),
      places: Math.min(limits.connections, pace?.places ?? limits.connections),
      perMinute: pace?.perMinute ?? limits.perMinute,
      limits,
      slowedSince: slowedSinceMs === undefined ? undefined : new Date(slowedSinceMs),
      lastReply,
    }
  })
}

function line({ address, site, open, places, perMinute, limits, slowedSince, lastReply }: ShownSite): string[] {
  const of = (now: number | undefined, limit: number | undefined) =>
    limit === undefined ? '-' : now === limit ? `${limit}` : `${now} of ${limit}`
  return [
    address || '(any)',
    site,
    `${open}`,
    of(places, limits.connections),
    `${limits.messages}`,
    of(perMinute, limits.perMinute),
    slowedSince ? shortTime(slowedSince) : '-',
    lastReply ? `${shortTime(new Date(lastReply.atMs))} ${lastReply.text}` : '-',
  ]
}

function view({ address, site, open, held, places, perMinute, limits, slowedSince, lastReply }: ShownSite) {
  return {
    address: address || null,
    site,
    limits: {
      connections: limits.connections,
      messages_per_connection: limits.messages,
      per_minute: limits.perMinute ?? null,
    },
    connections: { open, held, allowed: places },
    per_minute: perMinute ?? null,
    slowed_since: slowedSince ?? null,
    last_refusal: lastReply ? { at: new Date(lastReply.atMs), reply: lastReply.text } : null,
  }
}
