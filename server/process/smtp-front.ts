import { listenForSmtp, type SmtpFront, sharesOfListeners } from '../smtp-front/listener.ts'
import type { FrontParts } from '../smtp-front/parts.ts'
import { watchSmtpFront } from '../telemetry/watch-parts.ts'
import type { Certificate } from './certificate.ts'
import type { Program } from './program.ts'

/** The most recipients of one transaction: RFC 5321 4.5.3.1.8. Over 50 become two messages. */
const MOST_RECIPIENTS = 100

/**
 * Listens for programs that send by SMTP when SMTP_FRONT_PORT or SMTP_FRONT_TLS_PORT is set, and for mail servers when
 * SMTP_FRONT_LMTP_PORT is. They share the limits of connections and of memory. The caller closes the listeners.
 */
export async function startSmtpFront(
  { config, log, metrics }: Program,
  door: Pick<FrontParts, 'logIn' | 'begin' | 'deliver'>,
  certificate: Certificate | undefined,
) {
  const { smtpFrontPort, smtpFrontTlsPort, smtpFrontLmtpPort, smtpFrontHost, smtpHeloName } = config
  const ports = [
    { port: smtpFrontPort, protocol: 'SMTP', implicitTls: false },
    { port: smtpFrontTlsPort, protocol: 'SMTP', implicitTls: true },
    { port: smtpFrontLmtpPort, protocol: 'LMTP', implicitTls: false },
  ]
  if (ports.every(({ port }) => port === undefined)) return undefined
  const shares = sharesOfListeners()
  const shared = { ...door, host: smtpFrontHost, name: smtpHeloName, tls: certificate?.pair, shares }
  const fronts: (SmtpFront & { protocol: string })[] = []
  for (const { port, protocol, implicitTls } of ports) {
    if (port === undefined) continue
    const own = { port, implicitTls, isLmtp: protocol === 'LMTP', maxRecipients: MOST_RECIPIENTS }
    const front = await listenForSmtp({ ...shared, ...own })
    fronts.push({ ...front, protocol })
    certificate?.onRenewal(front.showCertificate)
    log.info({ host: smtpFrontHost, port: front.port }, `listening for mail over ${protocol}`)
  }
  watchSmtpFront(metrics, () => shares.clients.size())
  return {
    /** The first port of each protocol. */
    smtpPort: fronts.find(({ protocol }) => protocol === 'SMTP')?.port,
    lmtpPort: fronts.find(({ protocol }) => protocol === 'LMTP')?.port,
    close: (options: { timeoutMs: number }) => Promise.all(fronts.map(({ close }) => close(options))),
  }
}
