import { FairSlots } from '../../net/fair-slots.ts'
import { widerNetworkOf } from '../../net/network.ts'
import { findReturnPath, type ReturnPath } from '../domains/return-path.ts'
import type { Addressee } from './addressee.ts'
import type { FeedbackResult } from './feedback.ts'
import { decodedTextsAside } from './mime-parts.ts'
import { type Report, readReportAside } from './report.ts'

export interface InboundMail extends Addressee {
  content: Buffer
  /** False when the envelope names a sender: such mail is no notice of a mail system. */
  hasNullSender?: boolean
  remoteAddress: string
  /** Aborts when the client has gone, who cannot learn any more that its mail was read. */
  left?: AbortSignal
}

/** A received mail: a report with its result, or no report. */
export interface ReceivedMail {
  messageId?: string
  report: Report['kind']
  kept?: FeedbackResult
}

/** The pause after each mail, as a multiple of its processing time: many reports must not slow down sends. */
const PAUSE_FACTOR = 2
const MAX_PAUSE_MS = 1_000

/** The return path of the message that a complaint quotes, as it is or encoded. */
async function quotedReturnPath(keys: readonly Uint8Array[], content: Buffer): Promise<ReturnPath | undefined> {
  const found = findReturnPath(keys, content.toString('latin1'))
  return found ?? findReturnPath(keys, (await decodedTextsAside(content)).join('\n'))
}

interface ReceiverParts {
  returnPathKeys: readonly Uint8Array[]
  keep(returnPath: ReturnPath, report: Report): Promise<FeedbackResult>
  report(mail: ReceivedMail): void
}

/** Nothing failed: the client sends the mail again. */
export class ClientLeft extends Error {}

/**
 * Processes received mails one at a time, in turns of networks (/24, /48). The promise rejects when the report could
 * not be stored, or not yet: the sender must try again. `report` is called with each mail that was processed.
 */
export function createReceiver(parts: ReceiverParts): (mail: InboundMail) => Promise<void> {
  const turns = new FairSlots({ slots: 1 })

  return async (mail) => {
    const release = await turns.acquire({ accountId: widerNetworkOf(mail.remoteAddress), signal: mail.left })
    if (!release) throw new ClientLeft('the client has left')
    const startedAtMs = performance.now()
    try {
      await processMail(parts, mail)
    } finally {
      setTimeout(release, Math.min((performance.now() - startedAtMs) * PAUSE_FACTOR, MAX_PAUSE_MS))
    }
  }
}

async function processMail({ returnPathKeys, keep, report }: ReceiverParts, mail: InboundMail): Promise<void> {
  const { content, hasNullSender = true, address } = mail
  // A complaint quotes the message, whose return path proves that the service sent it.
  const returnPath = mail.returnPath ?? (await quotedReturnPath(returnPathKeys, content))
  const mailReport = returnPath && (await readReportAside(content, { hasNullSender, returnPath: address }))
  // Every recipient of a message knows a token, so the public address for complaints accepts nothing but complaints.
  const isAccepted = returnPath && mailReport && (mail.returnPath !== undefined || mailReport.kind === 'complaint')
  const isKept = isAccepted && (mailReport.kind === 'bounce' || mailReport.kind === 'complaint')
  const kept = isKept ? await keep(returnPath, mailReport) : undefined
  if (kept === 'running') throw new Error('the outcome of the message is not stored yet')
  report({ messageId: returnPath?.messageId, report: isAccepted ? mailReport.kind : 'none', kept })
}
