import type { Sealer } from '../db/encryption.ts'
import { publicId } from '../db/ids.ts'
import { addresseesOf } from '../inbound/addressee.ts'
import { createFeedback } from '../inbound/feedback.ts'
import { listenForBounces } from '../inbound/listener.ts'
import { createReceiver } from '../inbound/receive.ts'
import type { Certificate } from './certificate.ts'
import type { Program } from './program.ts'

/** Listens for bounces and complaints when BOUNCE_PORT is set. The caller closes the listener. */
export async function startBounces(program: Program, sealer: Sealer, certificate: Certificate | undefined) {
  const { config, log, metrics } = program
  const { bounceHost, bouncePort, smtpHeloName } = config
  if (bouncePort === undefined) return undefined
  const listener = await listenForBounces({
    host: bounceHost,
    port: bouncePort,
    name: smtpHeloName,
    tls: certificate?.pair,
    ...createReports(program, sealer),
    failed(error) {
      metrics.inboundFailures.add({})
      log.warn({ err: error }, 'mail that came back could not be accepted: its sender tries again')
    },
  })
  certificate?.onRenewal(listener.showCertificate)
  log.info({ host: bounceHost, port: listener.port }, 'listening for bounces and complaints')
  return listener
}

/** What recognises the addresses that reports go to, and what reads and stores the reports. */
export function createReports({ config, db, clock, log, metrics }: Program, sealer: Sealer) {
  const returnPathKeys = sealer.deriveKeys('return-path')
  return {
    addresseeOf: addresseesOf({ returnPathKeys, returnPathHost: config.returnPathHost }),
    receive: createReceiver({
      returnPathKeys,
      keep: createFeedback({ db, clock }),
      report({ messageId, report, kept }) {
        metrics.inboundMails.add({ report, result: kept ?? 'none' })
        log.info({ message_id: messageId && publicId('msg', messageId), report, kept }, 'mail came back')
      },
    }),
  }
}
