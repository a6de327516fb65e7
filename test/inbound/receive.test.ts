import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { makeReturnPath, type ReturnPath } from '../../server/domains/return-path.ts'
import type { FeedbackResult } from '../../server/inbound/feedback.ts'
import { createReceiver, type InboundMail, type ReceivedMail } from '../../server/inbound/receive.ts'
import type { Report } from '../../server/inbound/report.ts'
import * as bounces from './bounces.ts'
import { arf } from './report-forms.ts'

const key = randomBytes(32)
const returnPath: ReturnPath = { messageId: randomUUID(), position: 3 }
const { messageId } = returnPath
const address = `${makeReturnPath(key, messageId, 3)}@rp.example.test`
const original = `Return-Path: <${address}>\nFrom: hello@example.test\n`

/** A receiver whose reports are kept as `keep` says. */
function receiver(keep: (report: Report) => FeedbackResult | Promise<FeedbackResult> = () => 'kept') {
  const kept: [ReturnPath, Report['kind']][] = []
  const received: ReceivedMail[] = []
  const receive = createReceiver({
    returnPathKeys: [randomBytes(32), key],
    async keep(path, report) {
      kept.push([path, report.kind])
      return keep(report)
    },
    report: (mail) => void received.push(mail),
  })
  return {
    kept,
    received,
    receive: (mail: string, more: Partial<InboundMail> = {}) =>
      receive({ content: Buffer.from(mail), remoteAddress: '192.0.2.1', ...more }),
  }
}

const UNREAD = 'From: MAILER-DAEMON@mx.example.net\nSubject: failure notice\n\nSomething happened.\n'
const quotes = (mail: string) => `${mail}\r\n${original}`

test.each([
  ['a bounce', bounces.POSTFIX, 'bounce', true],
  ['a complaint', arf({}), 'complaint', true],
  ['a notice that tells nothing', UNREAD, 'unread', false],
  ['a delay', bounces.POSTFIX_DELAYED, 'none', false],
  ['nothing', '', 'none', false],
] as const)('of %s to a return path, what it reports about the message is kept', async (_, mail, kind, isKept) => {
  const { kept, received, receive } = receiver()
  await receive(mail, { returnPath, address })
  expect(kept).toEqual(isKept ? [[returnPath, kind]] : [])
  expect(received).toEqual([{ messageId, report: kind, kept: isKept ? 'kept' : undefined }])
})

test.each([
  ['a complaint that quotes a return path of ours', arf({ original }), messageId, 'complaint'],
  ['a complaint that quotes none', arf({}), undefined, 'none'],
  ['a bounce that quotes one', quotes(bounces.POSTFIX), messageId, 'none'],
  ['a notice that quotes one', quotes(UNREAD), messageId, 'none'],
] as const)('of mail to the address for complaints, %s is about the message %s', async (_, mail, about, kind) => {
  const { kept, received, receive } = receiver()
  await receive(mail)
  expect(kept).toEqual(kind === 'complaint' ? [[returnPath, kind]] : [])
  expect(received).toEqual([{ messageId: about, report: kind, kept: kind === 'complaint' ? 'kept' : undefined }])
})

test('the return path of the envelope goes before one that the mail quotes', async () => {
  const { kept, receive } = receiver()
  const other = { messageId: randomUUID(), position: 0 }
  await receive(arf({ original }), { returnPath: other, address })
  expect(kept).toEqual([[other, 'complaint']])
})

test('a bounce with a sender in its envelope is none', async () => {
  const { received, receive } = receiver()
  await receive(bounces.POSTFIX, { returnPath, address, hasNullSender: false })
  expect(received).toEqual([{ messageId, report: 'none', kept: undefined }])
})

test('a report that cannot be stored yet is an error, and is not reported as received', async () => {
  const { received, receive } = receiver(() => 'running')
  await expect(receive(bounces.POSTFIX, { returnPath, address })).rejects.toThrow('not stored yet')
  expect(received).toEqual([])
})

test('mails are processed one at a time, also after one that failed', async () => {
  const first = Promise.withResolvers<FeedbackResult>()
  const { kept, receive } = receiver((report) => (report.kind === 'bounce' ? first.promise : 'kept'))
  const failed = receive(bounces.POSTFIX, { returnPath, address })
  const next = receive(arf({}), { returnPath, address })
  await expect.poll(() => kept.length).toBe(1)
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
  expect(kept.map(([, kind]) => kind)).toEqual(['bounce'])
  first.reject(new Error('no database'))
  await expect(failed).rejects.toThrow('no database')
  await next
  expect(kept.map(([, kind]) => kind)).toEqual(['bounce', 'complaint'])
})

test('mails are read in turns of networks, and one whose client has left is not read', async () => {
  const first = Promise.withResolvers<FeedbackResult>()
  const { kept, receive } = receiver(() => first.promise)
  const read: string[] = []
  const from = async (remoteAddress: string, left?: AbortSignal) => {
    await receive(bounces.POSTFIX, { returnPath, address, remoteAddress, left })
    read.push(remoteAddress)
  }
  const leave = new AbortController()
  const mails = ['192.0.2.1', '192.0.2.1', '192.0.2.2', '198.51.100.1', '2001:db8:1::1', '2001:db8:1:2::1'].map((one) =>
    from(one),
  )
  const gone = from('198.51.100.2', leave.signal)
  await expect.poll(() => kept.length).toBe(1)
  leave.abort()
  await expect(gone).rejects.toThrow('the client has left')
  first.resolve('kept')
  await Promise.all(mails)
  expect(read).toEqual([
    ...['192.0.2.1', '192.0.2.1', '198.51.100.1', '2001:db8:1::1'],
    ...['192.0.2.2', '2001:db8:1:2::1'],
  ])
  expect(kept).toHaveLength(mails.length)
})
