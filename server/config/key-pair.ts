import { createPrivateKey, X509Certificate } from 'node:crypto'
import { certificateFile, privateKeyFile } from './values.ts'

/** A certificate with its chain, and its private key, in PEM. */
export interface KeyPair {
  cert: string
  key: string
}

/** A pair, and the paths of the files that it was read from. */
export interface CertificateFiles extends KeyPair {
  certFile: string
  keyFile: string
}

export const fits = ({ cert, key }: KeyPair) => new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))

/** Reads both files. Throws an Error that says which file cannot be used and why. */
export function readKeyPair({ certFile, keyFile }: Pick<CertificateFiles, 'certFile' | 'keyFile'>): KeyPair {
  const pair = {
    cert: read('TLS_CERT_FILE', certificateFile, certFile),
    key: read('TLS_KEY_FILE', privateKeyFile, keyFile),
  }
  if (!fits(pair)) throw new Error('TLS_KEY_FILE must name the key of the certificate in TLS_CERT_FILE')
  return pair
}

function read(name: string, reader: (path: string) => string, path: string): string {
  try {
    return reader(path)
  } catch (error) {
    throw new Error(`${name} ${(error as Error).message}`)
  }
}
