import { createHash } from 'node:crypto'
import type { ConnectError } from '@connectrpc/connect'
import { type SendRequest, SendRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { parseMailbox } from '../../mail/address.ts'
import { runEvery } from '../async/run-every.ts'
import { inTime } from '../async/timeout.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { firstIdAt, newId } from '../db/ids.ts'
import { run } from '../db/statement.ts'
import { contentsOfError, type ErrorReason, gistOf } from '../errors.ts'
import { MAX_RECIPIENTS } from './recipients.ts'

// Sends that ended with an error before there was an email. They are kept in memory and written once a second, so that
// no response waits for them. What the database does not take is dropped and counted.

/** How a send came. */
export type SendProtocol = 'rest' | 'grpc' | 'grpc-web' | 'connect' | 'smtp' | 'lmtp'

export interface RefusedSend {
  accountId: string
  /** Absent for a person of the dashboard. */
  keyId?: string
  requestId: string
  protocol: SendProtocol
  error: ConnectError
  /** Absent when the body was not read. */
  parties?: { sender?: string; recipients: string[] }
}

const EVERY_MS = 1_000
const WRITE_MS = 5_000
const MINUTE_MS = 60_000
/** The most rows of an account in a clock minute, and of the installation in a second. */
export const MOST = { minute: 60, second: 100 }

/** As it is stored, with the ids that begin the times in which rows are counted. */
interface Row extends ReturnType<typeof storedForm> {
  id: string
  digest: string
  count: number
  since: string
  minute: string
  next_minute: string
  second: string
  next_second: string
}

export class RefusedSends {
  readonly #parts: { db: Database; clock: DatabaseClock }
  readonly #report: (error: unknown) => void
  readonly #writing: { stop(): void }
  #rows = new Map<string, Row>()
  #unstored = new Map<string, number>()
  #minute = 0
  /** The digests of the different refusals of each account in this minute. */
  #seen = new Map<string, Set<string>>()

  constructor(parts: { db: Database; clock: DatabaseClock }, report: (error: unknown) => void) {
    this.#parts = parts
    this.#report = report
    this.#writing = runEvery(EVERY_MS, () => this.#write(), report)
  }

  note(refused: RefusedSend): void {
    const now = this.#parts.clock.now()
    if (this.#minute !== minuteOf(now)) {
      this.#minute = minuteOf(now)
      this.#seen = new Map()
    }
    const form = storedForm(refused)
    const { request_id: _, ...same } = form
    const digest = createHash('sha256').update(JSON.stringify(same)).digest('base64url')
    const row = this.#rows.get(digest)
    if (row) row.count++
    else if (this.#rows.size < MOST.second && this.#isAmongFirst(refused.accountId, digest))
      this.#rows.set(digest, rowOf(form, digest, now))
    else this.#drop(refused.accountId, 1)
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    this.#writing.stop()
    await this.#write().catch(this.#report)
  }

  /** Keeps one account from filling the memory that all share. */
  #isAmongFirst(accountId: string, digest: string): boolean {
    const digests = this.#seen.get(accountId) ?? new Set()
    this.#seen.set(accountId, digests)
    if (digests.size < MOST.minute) digests.add(digest)
    return digests.has(digest)
  }

  #drop(accountId: string, sends: number): void {
    this.#unstored.set(accountId, (this.#unstored.get(accountId) ?? 0) + sends)
  }

  async #write(): Promise<void> {
    if (this.#rows.size + this.#unstored.size === 0) return
    const written = [...this.#rows.values()]
    const dropped = [...this.#unstored]
    this.#rows = new Map()
    this.#unstored = new Map()
    try {
      await inTime(store(this.#parts.db, written, dropped), WRITE_MS)
    } catch (error) {
      for (const { account_id } of written) this.#drop(account_id, 1)
      for (const [accountId, sends] of dropped) this.#drop(accountId, sends)
      throw error
    }
  }
}

const minuteOf = (ms: number) => Math.floor(ms / MINUTE_MS)

function storedForm({ accountId, keyId, requestId, protocol, error, parties }: RefusedSend) {
  const { reason, fields: faults } = contentsOfError(error)
  const fields = fieldsOf(faults)
  return {
    account_id: accountId,
    key_id: keyId,
    request_id: requestId,
    protocol,
    error: reason,
    message: gistOf(error) ?? MESSAGES[reason] ?? messageOf(fields, faults.length > 0),
    fields,
    sender: parties?.sender,
    recipients: parties?.recipients ?? [],
  }
}

const FIELDS = new Set(['emails', 'idempotency_key', ...SendRequestSchema.fields.map(({ jsonName }) => jsonName)])

/** What the SMTP front calls the content that a request has in `raw`. */
export const WHOLE_MESSAGE = 'The message'

/** The fields themselves, without places in them. Names that the contract does not have are values of the caller. */
function fieldsOf(faults: readonly { field: string }[]): string[] {
  const names = faults.map(({ field }) => (field === WHOLE_MESSAGE ? 'raw' : field.replace(/[.[].*/s, '')))
  return [...new Set(names)].filter((name) => FIELDS.has(name))
}

/**
 * Who a request is from and to, where that can be read: the first 50 recipients. A field with a fault may have no
 * value.
 */
export function partiesOf({ from, to, cc, bcc }: Partial<Pick<SendRequest, 'from' | 'to' | 'cc' | 'bcc'>>) {
  const given = [to, cc, bcc].flatMap((texts) => texts?.slice(0, MAX_RECIPIENTS)).slice(0, MAX_RECIPIENTS)
  const recipients = given.flatMap((text) => (text && parseMailbox(text)?.address) || [])
  return { sender: from ? parseMailbox(from)?.address : undefined, recipients: [...new Set(recipients)] }
}

const MESSAGES: { [reason in ErrorReason]?: string } = {
  insufficient_scope: 'The API key lacks the scope emails.send.',
  domain_not_verified: 'The domain of from is not a domain of the account.',
  payload_too_large: 'The request was too large.',
  unsupported_media_type: 'The body was not JSON in UTF-8, or it was compressed.',
  rate_limit_exceeded: 'A limit was used up.',
  transient_failure: 'A fault of the service.',
}

/** What a request that was not accepted lacks, without its values. */
function messageOf(fields: string[], hasFaults: boolean): string {
  if (fields.length > 0) return `Not accepted in this form: ${fields.join(', ')}.`
  return hasFaults ? 'A field or header does not exist, or has another form.' : 'The request could not be read.'
}

function rowOf(form: ReturnType<typeof storedForm>, digest: string, now: number): Row {
  const minute = minuteOf(now) * MINUTE_MS
  const second = Math.floor(now / 1_000) * 1_000
  return {
    ...form,
    id: newId(now),
    digest,
    count: 1,
    since: firstIdAt(now - MINUTE_MS),
    minute: firstIdAt(minute),
    next_minute: firstIdAt(minute + MINUTE_MS),
    second: firstIdAt(second),
    next_second: firstIdAt(second + 1_000),
  }
}

/** Processes take turns, so that the counts are those of all. */
const TAKE_TURN = `
  select set_config('lock_timeout', '1s', true), pg_advisory_xact_lock(hashtext('verdict refused sends'))`

const STORE = `
  with refused as (
    select * from json_to_recordset($1::text::json) as r(
      id uuid, account_id uuid, key_id uuid, request_id text, protocol text, error text, message text, fields text[],
      sender text, recipients text[], digest text, count int,
      since uuid, minute uuid, next_minute uuid, second uuid, next_second uuid)
  ),
  repeated as (
    update refused_sends s set count = s.count + r.count from refused r
    where s.account_id = r.account_id and s.id >= r.since and s.digest = r.digest
    returning r.id
  ),
  new as (
    select r.*,
      row_number() over (partition by r.account_id, r.minute order by r.id) + (
        select count(*) from refused_sends s
        where s.account_id = r.account_id and s.id >= r.minute and s.id < r.next_minute) as of_minute,
      row_number() over (partition by r.second order by r.id) + (
        select count(*) from refused_sends s where s.id >= r.second and s.id < r.next_second) as of_second
    from refused r where r.id not in (select id from repeated)
  ),
  stored as (
    insert into refused_sends (
      id, account_id, key_id, request_id, protocol, error, message, fields, sender, recipients, digest, count)
    select id, account_id, key_id, request_id, protocol, error, message, fields, sender, recipients, digest, count
    from new where of_minute <= ${MOST.minute} and of_second <= ${MOST.second}
    returning id
  ),
  dropped as (
    select account_id, sends from json_to_recordset($2::text::json) as d(account_id uuid, sends int)
    union all
    select account_id, 1 from new where of_minute > ${MOST.minute} or of_second > ${MOST.second}
  )
  insert into unstored_refused_sends as kept (account_id, hour, sends)
  select account_id, date_trunc('hour', now()), sum(sends) from dropped group by 1
  on conflict (account_id, hour) do update set sends = kept.sends + excluded.sends`

async function store(db: Database, rows: Row[], dropped: [accountId: string, sends: number][]): Promise<void> {
  const unstored = dropped.map(([account_id, sends]) => ({ account_id, sends }))
  await db.$client.begin(async (tx) => {
    await run(tx, TAKE_TURN)
    await run(tx, STORE, [JSON.stringify(rows), JSON.stringify(unstored)])
  })
}
