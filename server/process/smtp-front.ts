import { type FrontParts, listenForSmtp } from '../smtp-front/listener.ts'
import { watchSmtpFront } from '../telemetry/watch-parts.ts'
import type { Certificate } from './certificate.ts'
import type { Program } from './program.ts'

/** The most recipients of one message, as everywhere. */
const MOST_RECIPIENTS = 50

/** Listens for programs that send by SMTP when SMTP_FRONT_PORT is set. The caller closes the listener. */
export async function startSmtpFront(
  { config, log, metrics }: Program,
  door: Pick<FrontParts, 'logIn' | 'deliver'>,
  certificate: Certificate | undefined,
) {
  const { smtpFrontPort, smtpFrontHost, smtpFrontTls, smtpFrontRecipients, smtpHeloName } = config
  if (smtpFrontPort === undefined) return undefined
  const front = await listenForSmtp({
    ...door,
    host: smtpFrontHost,
    port: smtpFrontPort,
    name: smtpHeloName,
    tls: certificate?.pair,
    implicitTls: smtpFrontTls === 'implicit',
    maxRecipients: smtpFrontRecipients === 'one' ? 1 : MOST_RECIPIENTS,
  })
  certificate?.onRenewal(front.showCertificate)
  watchSmtpFront(metrics, front.connections)
  log.info({ host: smtpFrontHost, port: front.port }, 'listening for mail over SMTP')
  return front
}
