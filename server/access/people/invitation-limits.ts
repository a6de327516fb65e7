import type { DatabaseClock } from '../../db/clock.ts'
import type { Transaction } from '../../db/connect.ts'
import { lockAccount } from '../../db/lock-account.ts'
import { one, run } from '../../db/statement.ts'
import { usedUp } from '../limiter.ts'

// An invitation is mail to a stranger, from the operator's own domain. What people may cause of it is limited for each
// account. The operator's own invitations, by the command line, are not.

const MAX_OPEN = 20
const MAX_MAILED = 50
const MAX_BOUNCES = 3
const DAY_SECONDS = 86_400

// A bounce counts on the day on which it is known: the reply to the mail, or a report about it. The mail may be older.
const COUNT = `
  with mails as materialized (
    select n.* from notices n join invitations i on i.id = n.subject_id
    where n.kind = 'invitation' and n.account_id = $1 and i.created_by is not null
      and n.created_at > $2::timestamptz - interval '90 days'
  ),
  reports as materialized (
    select f.message_id, f.kind from mails m join feedback f on f.message_id = m.message_id and f.reported_at >= $2
  )
  select
    (select count(*)::int from invitations
      where account_id = $1 and created_by is not null and ended_at is null and expires_at > $3) as open,
    (select count(*)::int from mails where created_at >= $2) as mailed,
    (select count(*)::int from mails
      where state = 'failed' and outcome like 'bounced%' and ended_at >= $2
        or message_id in (select message_id from reports where kind = 'late_bounce')) as bounced,
    (select count(*)::int from reports where kind = 'complaint') as complained`

/**
 * Throws `rate_limit_exceeded` when a person of the account may not invite now: 20 of its invitations are open, or 50
 * were mailed on this UTC day. Returns whether one more may be mailed: not after a complaint of this day about one of
 * them, nor after three bounces.
 */
export async function checkInvitations(
  tx: Transaction,
  clock: DatabaseClock,
  accountId: string,
): Promise<{ mayMail: boolean }> {
  await lockAccount(tx, accountId)
  const now = new Date(clock.now())
  const day = new Date(now).setUTCHours(0, 0, 0, 0)
  const parameters = [accountId, new Date(day).toISOString(), now.toISOString()]
  const rows = await run<Record<'open' | 'mailed' | 'bounced' | 'complained', number>>(tx, COUNT, parameters)
  const { open, mailed, bounced, complained } = one(rows)
  const secondsLeft = Math.max(1, Math.ceil(DAY_SECONDS - (now.getTime() - day) / 1_000))
  if (open >= MAX_OPEN) {
    throw usedUp(`${MAX_OPEN} invitations of this account are open. Withdraw one, or wait for an answer.`, secondsLeft)
  }
  if (mailed >= MAX_MAILED) {
    throw usedUp(`The ${MAX_MAILED} mailed invitations of this account for this UTC day are used up.`, secondsLeft)
  }
  return { mayMail: complained === 0 && bounced < MAX_BOUNCES }
}
