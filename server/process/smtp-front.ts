import { type FrontParts, listenForSmtp, type SmtpFront } from '../smtp-front/listener.ts'
import { watchSmtpFront } from '../telemetry/watch-parts.ts'
import type { Certificate } from './certificate.ts'
import type { Program } from './program.ts'

/** The most recipients of one transaction: RFC 5321 4.5.3.1.8. Over 50 become two messages. */
const MOST_RECIPIENTS = 100

/**
 * Listens for programs that send by SMTP when SMTP_FRONT_PORT or SMTP_FRONT_TLS_PORT is set. The caller closes the
 * listeners.
 */
export async function startSmtpFront(
  { config, log, metrics }: Program,
  door: Pick<FrontParts, 'logIn' | 'begin' | 'deliver'>,
  certificate: Certificate | undefined,
) {
  const { smtpFrontPort, smtpFrontTlsPort, smtpFrontHost, smtpFrontRecipients, smtpHeloName } = config
  const ports = [
    ...(smtpFrontPort === undefined ? [] : [{ port: smtpFrontPort, implicitTls: false }]),
    ...(smtpFrontTlsPort === undefined ? [] : [{ port: smtpFrontTlsPort, implicitTls: true }]),
  ]
  if (ports.length === 0) return undefined
  const shared = { ...door, host: smtpFrontHost, name: smtpHeloName, tls: certificate?.pair }
  const maxRecipients = smtpFrontRecipients === 'one' ? 1 : MOST_RECIPIENTS
  const fronts: SmtpFront[] = []
  for (const each of ports) fronts.push(await listenForSmtp({ ...shared, ...each, maxRecipients }))
  for (const { port, showCertificate } of fronts) {
    certificate?.onRenewal(showCertificate)
    log.info({ host: smtpFrontHost, port }, 'listening for mail over SMTP')
  }
  watchSmtpFront(metrics, () => fronts.reduce((sum, { connections }) => sum + connections(), 0))
  return {
    /** The first of them. */
    port: fronts[0]!.port,
    close: (options: { timeoutMs: number }) => Promise.all(fronts.map(({ close }) => close(options))),
  }
}
