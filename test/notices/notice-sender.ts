import { createSendHouseMail, houseParts } from '../../server/notices/house.ts'
import { NoticeSender } from '../../server/notices/send-notices.ts'
import type { World } from '../sending/world.ts'
import { mailText } from './mail-text.ts'

const PUBLIC_URL = 'https://mail.example.com'

type Options = Partial<Pick<ConstructorParameters<typeof NoticeSender>[0], 'post' | 'report'>>

/** The sender of one process, which mails by the recipe of a send. By default it posts nothing. */
export function createTestSender(world: World, options: Options = {}) {
  const { db, sealer } = world
  const send = world.sendWith(houseParts(world.sendParts()))
  return new NoticeSender({
    db,
    sealer,
    post: () => Promise.reject(new Error('nothing is posted')),
    sendMail: createSendHouseMail({ db, send, from: 'verdict@example.test', leaseMs: 60_000 }),
    publicUrl: () => PUBLIC_URL,
    leaseMs: 60_000,
    report: () => {},
    ...options,
  })
}

/** The token of the link in the newest mail; empty when there is none. */
export function mailedToken({ exchanger }: World, page: 'reset' | 'invitation'): string {
  const text = mailText(exchanger.messages.at(-1)?.content ?? '')
  const [, token = ''] = new RegExp(`${PUBLIC_URL}/dashboard/${page}/([\\w-]+)`).exec(text) ?? []
  return token
}
