import { X509Certificate } from 'node:crypto'
import { type CertificateFiles, type KeyPair, readKeyPair } from '../config/key-pair.ts'
import { lookAgain } from './look-again.ts'
import type { Program } from './program.ts'

const LOOK_EVERY_MS = 10_000

/** The certificate that a process shows, and those who show it. */
export interface Certificate {
  pair: KeyPair
  /** Calls `apply` with every later pair. Connections that are open keep the pair they began with. */
  onRenewal(apply: (pair: KeyPair) => void): void
}

/**
 * Reads the files again on SIGHUP and every ten seconds, and hands on a changed pair. Tools that renew write one file
 * after the other, so a fault is reported only when it is seen twice. Meanwhile the old pair stays.
 */
export function keepCertificate({ log, ends }: Pick<Program, 'log' | 'ends'>, files: CertificateFiles): Certificate {
  const uses: ((pair: KeyPair) => void)[] = []
  const certificate: Certificate = { pair: files, onRenewal: (apply) => uses.push(apply) }
  let lastFault = ''
  let isReported = false

  const look = () => {
    const fault = renew()
    if (fault !== '' && fault === lastFault && !isReported) {
      log.error({ why: fault }, 'the new certificate cannot be used: the old one stays until the files are corrected')
      isReported = true
    }
    if (fault !== lastFault) isReported = false
    lastFault = fault
  }

  /** Returns why the files cannot be used, or an empty string. */
  function renew(): string {
    try {
      const pair = readKeyPair(files)
      if (pair.cert === certificate.pair.cert && pair.key === certificate.pair.key) return ''
      for (const apply of uses) apply(pair)
      certificate.pair = pair
      const { validTo, subjectAltName } = new X509Certificate(pair.cert)
      log.info({ valid_to: new Date(validTo), names: subjectAltName }, 'the certificate was renewed')
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }

  lookAgain(ends, LOOK_EVERY_MS, look)
  return certificate
}
