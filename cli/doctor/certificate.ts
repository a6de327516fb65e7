import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { CheckFinding, DoctorCheck } from './check.ts'
import { failure, ok, skipped, warning } from './check.ts'

const DAY_MS = 86_400_000
const CLOSE_MS = 30 * DAY_MS
const CONNECT_MS = 5_000

interface ServedCertificate {
  certificate: X509Certificate
  /** Why clients with the system's authorities refuse it; undefined when they accept it. */
  refusal: string | undefined
}

const certificate: DoctorCheck = {
  name: 'certificate',
  about:
    'the TLS certificates of the API and of the SMTP front are valid for 30 more days; that of the API is for the host of `PUBLIC_URL`',
  reads: ['PUBLIC_URL', 'TLS_CERT_FILE', 'TLS_KEY_FILE', 'SMTP_FRONT_CERT_FILE', 'SMTP_FRONT_KEY_FILE'],
  async run({ config: { tls, publicUrl, smtpFrontCertificate } }) {
    const isOfFront = smtpFrontCertificate !== undefined && smtpFrontCertificate !== tls
    const ofFront =
      isOfFront && certificateFinding(new X509Certificate(smtpFrontCertificate.cert), undefined, Date.now())
    if (ofFront && ofFront.state !== 'ok') return { ...ofFront, seen: `SMTP_FRONT_CERT_FILE: ${ofFront.seen}` }
    const url = publicUrl === undefined ? undefined : new URL(publicUrl)
    if (tls) return certificateFinding(new X509Certificate(tls.cert), url?.hostname, Date.now())
    if (url?.protocol !== 'https:') return skipped('no TLS: PUBLIC_URL is not https')
    const served = await servedBy(url)
    if (typeof served === 'string') return skipped(`could not be tried: ${url.host} did not serve one (${served})`)
    const finding = certificateFinding(served.certificate, url.hostname, Date.now())
    if (finding.state !== 'ok' || !served.refusal) return finding
    return warning(
      `${url.host} serves one that clients may refuse (${served.refusal})`,
      'Serve the whole chain of a certificate from an authority that your callers know.',
    )
  },
}

export const CERTIFICATE_CHECKS = [certificate]

/** Judges a certificate for the host at a time. */
export function certificateFinding(
  certificate: X509Certificate,
  host: string | undefined,
  nowMs: number,
): CheckFinding {
  const { validFromDate, validToDate } = certificate
  const day = validToDate.toISOString().slice(0, 10)
  const wayOut = 'Renew the certificate, and reload or restart what serves it.'
  if (validToDate.getTime() <= nowMs) return failure(`it expired on ${day}: callers cannot connect`, wayOut)
  if (validFromDate.getTime() > nowMs)
    return failure(`it is not valid before ${validFromDate.toISOString()}`, "Check this machine's clock, or wait.")
  if (host !== undefined && !covers(certificate, host))
    return failure(
      `it is not for ${host}, the host of PUBLIC_URL, but for ${certificate.subjectAltName ?? certificate.subject}`,
      'Get a certificate for that host, or correct PUBLIC_URL.',
    )
  const days = Math.floor((validToDate.getTime() - nowMs) / DAY_MS)
  return days * DAY_MS < CLOSE_MS
    ? warning(`it expires in ${days} days, on ${day}`, wayOut)
    : ok(`valid until ${day}${host === undefined ? '' : ` for ${host}`}`)
}

function covers(certificate: X509Certificate, host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '')
  return (isIP(address) ? certificate.checkIP(address) : certificate.checkHost(host)) !== undefined
}

/** The certificate that clients of the URL see: a proxy may serve it. Resolves to the error code when there is none. */
function servedBy(url: URL): Promise<ServedCertificate | string> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const { promise, resolve } = Promise.withResolvers<ServedCertificate | string>()
  const socket = connect(
    {
      host,
      port: Number(url.port || 443),
      ...(isIP(host) ? {} : { servername: host }),
      // The certificate is looked at, whatever it is, and nothing is sent.
      rejectUnauthorized: false,
      timeout: CONNECT_MS,
    },
    () => {
      const certificate = socket.getPeerX509Certificate()
      // Another check compares the host, and has its own message.
      const code = socket.authorized ? undefined : String(socket.authorizationError)
      const refusal = code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? undefined : code
      resolve(certificate ? { certificate, refusal } : 'no certificate')
      socket.destroy()
    },
  )
  socket.on('timeout', () => socket.destroy(Object.assign(new Error('timeout'), { code: 'timeout' })))
  socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  return promise
}
