import { createPrivateKey, X509Certificate } from 'node:crypto'
import { certificateFile, privateKeyFile } from './values.ts'

/** A certificate with its chain, and its private key, in PEM. */
export interface KeyPair {
  cert: string
  key: string
}

/** A pair, the paths of the files that it was read from, and the variables that name them. */
export interface CertificateFiles extends KeyPair {
  certFile: string
  keyFile: string
  certVariable: string
  keyVariable: string
}

export const fits = ({ cert, key }: KeyPair) => new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))

/** Reads both files. Throws an Error that says which file cannot be used and why. */
export function readKeyPair({ certFile, keyFile, ...variables }: Omit<CertificateFiles, keyof KeyPair>): KeyPair {
  const { certVariable, keyVariable } = variables
  const pair = {
    cert: read(certVariable, certificateFile, certFile),
    key: read(keyVariable, privateKeyFile, keyFile),
  }
  if (!fits(pair)) throw new Error(`${keyVariable} must name the key of the certificate in ${certVariable}`)
  return pair
}

function read(name: string, reader: (path: string) => string, path: string): string {
  try {
    return reader(path)
  } catch (error) {
    throw new Error(`${name} ${(error as Error).message}`)
  }
}
