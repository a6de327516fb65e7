import { runEvery } from '../async/run-every.ts'
import { leaseOf } from '../config/limits.ts'
import type { Sealer } from '../db/encryption.ts'
import type { SendHouseMail } from '../notices/house.ts'
import { NoticeSender } from '../notices/send-notices.ts'
import type { Post } from '../webhooks/post/post.ts'
import type { Program } from './program.ts'

/** A person who asked for a link waits for its mail. */
const SEND_EVERY_MS = 2_000
/** An attempt takes at most this long beyond the lease of its send. */
const MARGIN_MS = 30_000

interface Parts {
  sealer: Sealer
  post: Post
  sendHouseMail: SendHouseMail | undefined
  publicUrl(): string
}

/** Sends notices. Every API process does, each notice under a lease. */
export function startNotices({ config, log, db, metrics, ends }: Program, parts: Parts): void {
  const { sealer, post, sendHouseMail, publicUrl } = parts
  const sender = new NoticeSender({
    db,
    sealer,
    post,
    sendMail: sendHouseMail,
    publicUrl,
    leaseMs: leaseOf(config.sendBudgetMs) + MARGIN_MS,
    report(end) {
      if ('error' in end) return log.warn({ err: end.error }, 'a notice could not be sent: it is tried again')
      metrics.notices.add(end)
    },
  })
  let running: Promise<void> = Promise.resolve()
  const sending = runEvery(
    SEND_EVERY_MS,
    () => (running = sender.sendDue()),
    (error) => log.error({ err: error }, 'notices could not be sent'),
  )
  ends.defer(async () => {
    sending.stop()
    await running.catch(() => {})
  })
}
