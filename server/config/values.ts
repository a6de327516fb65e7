import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import { domainToASCII } from 'node:url'
import { readDatabaseUrl, readReplicaUrls } from './database-url.ts'

// Readers of the variables' texts. Each throws an Error that says what the value must be, and never repeats the value.

export type ReadVariable<T> = (text: string) => T

export const text: ReadVariable<string> = (text) => text

export function wholeNumber(least: number, most: number): ReadVariable<number> {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= least && number <= most)) throw new Error(`must be a whole number from ${least} to ${most}`)
    return number
  }
}

export function oneOf<Value extends string>(...values: Value[]): ReadVariable<Value> {
  return (text) => {
    const value = values.find((value) => value === text)
    if (value === undefined) throw new Error(`must be one of ${values.join(', ')}`)
    return value
  }
}

/** Whether a listener at this host is reached from this machine alone. */
export const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

/** A number from 0 to 1. */
export const share: ReadVariable<number> = (text) => {
  if (!/^(0|1|0?\.\d{1,9}|1\.0+)$/.test(text)) throw new Error('must be a number from 0 to 1')
  return Number(text)
}

export const yesOrNo: ReadVariable<boolean> = (text) => oneOf('true', 'false')(text) === 'true'

/** A folder of this machine, or a bucket. `prefix` begins all names of its files: empty, or with a final slash. */
export type ArchivePlace = { folder: string } | { bucket: string; prefix: string }

const ARCHIVE = 'must be an absolute path of a folder, or s3://bucket or s3://bucket/folder'

export const archivePlace: ReadVariable<ArchivePlace> = (text) => {
  if (isAbsolute(text)) return { folder: text }
  const [, bucket, path = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(text) ?? []
  if (bucket === undefined) throw new Error(ARCHIVE)
  const prefix = path.replace(/^\/+|\/+$/g, '')
  return { bucket, prefix: prefix && `${prefix}/` }
}

export function matching(pattern: RegExp, why: string): ReadVariable<string> {
  return (text) => {
    if (!pattern.test(text)) throw new Error(why)
    return text
  }
}

export function listOf<T>(read: ReadVariable<T>): ReadVariable<readonly T[]> {
  return (text) => text.split(',').map((item) => read(item.trim()))
}

/**
 * Labels of at most 63 letters, digits and hyphens (RFC 1123 2.1). The last label is not only digits: that is an
 * address.
 */
const HOST_NAME = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*(?!\d+$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** A host name in lower case and A-labels. */
export const hostName: ReadVariable<string> = (text) => {
  const name = /^[\p{L}\p{M}\p{N}.-]+$/u.test(text) ? domainToASCII(text.replace(/\.$/, '')) : ''
  if (!HOST_NAME.test(name)) throw new Error('must be a host name')
  return name
}

/** An IP address or a host name, to listen on or to dial. */
export const host: ReadVariable<string> = (text) => {
  if (isIP(text)) return text
  return hostName(text)
}

export const ipAddress: ReadVariable<string> = (text) => {
  if (isIP(text) === 0) throw new Error('must be IP addresses')
  return text
}

/** An IP address, or a range in CIDR notation. */
export const subnet: ReadVariable<string> = (text) => {
  const [address = '', bits, more] = text.split('/')
  const family = isIP(address)
  const isValid =
    family !== 0 && !address.includes('%') && more === undefined && (bits === undefined || /^\d{1,3}$/.test(bits))
  if (!isValid || Number(bits ?? 0) > (family === 4 ? 32 : 128))
    throw new Error('must be addresses or ranges in CIDR notation')
  return bits === undefined ? `${address}/${family === 4 ? 32 : 128}` : text
}

export const port = wholeNumber(0, 65_535)

function splitHostPort(text: string): { host: string; port: number } | undefined {
  const [, host = '', digits = ''] = /^(\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/.exec(text) ?? []
  const number = Number(digits)
  return host && number >= 1 && number <= 65_535 ? { host: bare(host), port: number } : undefined
}

/** `host:port`, `ip:port` or `[ip]:port`. */
export const address: ReadVariable<string> = (text) => {
  const to = splitHostPort(text)
  if (!to) throw new Error('must be a host, a colon and a port')
  host(to.host)
  return text
}

/** A host name in lower case and A-labels, with a port or without. */
export const allowedHost: ReadVariable<string> = (text) => {
  const to = splitHostPort(text)
  try {
    return to ? `${hostName(to.host)}:${to.port}` : hostName(text)
  } catch {
    throw new Error('must be host names, each with a port or without')
  }
}

/** `ip`, `ip:port` or `[ip]:port`. */
export const dnsServer: ReadVariable<string> = (text) => {
  if (isIP(text) === 0 && isIP(splitHostPort(text)?.host ?? '') === 0)
    throw new Error('must be addresses, each with a port or without')
  return text
}

/** `domain=host:port,...` */
export const routes: ReadVariable<ReadonlyMap<string, { host: string; port: number }>> = (text) =>
  new Map(
    listOf((route) => {
      const [domain = '', target = '', more] = route.split('=')
      const to = splitHostPort(target)
      if (!to || more !== undefined) throw new Error('must be routes, each domain=host:port')
      return [hostName(domain), { host: host(to.host), port: to.port }] as const
    })(text),
  )

/** The id of an encryption key. */
export const keyId = matching(/^[A-Za-z0-9._-]{1,32}$/, 'must be ids of keys, each 1 to 32 of a-z, 0-9, ., _ and -')

/** `id:base64,...` with 32 bytes each. */
export const encryptionKeys: ReadVariable<readonly { id: string; key: Buffer }[]> = (text) => {
  const keys = listOf((item) => {
    const [, id, base64] = /^([A-Za-z0-9._-]{1,32}):([A-Za-z0-9+/]{43}=?)$/.exec(item) ?? []
    if (!id || !base64) throw new Error('must be keys, each an id, a colon and 32 bytes in base64')
    return { id, key: Buffer.from(base64, 'base64') }
  })(text)
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Error('must not use an id for two keys')
  return keys
}

/** A postgres:// URL of one server or several. */
export const databaseUrl: ReadVariable<string> = (text) => {
  readDatabaseUrl(text)
  return text
}

/** A postgres:// URL of one replica or several. */
export const databaseReadUrl: ReadVariable<string> = (text) => {
  readReplicaUrls(text)
  return text
}

/** Without the final slash. */
export const publicUrl: ReadVariable<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Error('must be an http:// or https:// URL without a query')
  }
  return url.href.replace(/\/$/, '')
}

/** The issuer of OpenID Connect. It is compared as text, so it stays unchanged. TLS is optional on loopback. */
export const issuer: ReadVariable<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(bare(url.hostname)))
  if (!url || !isSafe || url.search || url.hash || url.username) {
    throw new Error('must be an https:// URL without a query, or an http:// one on loopback')
  }
  return text
}

/** A host without the brackets of an IPv6 address. */
const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '')

/** The URL of a proxy, which may hold a user and a password. */
export const proxyUrl: ReadVariable<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash) {
    throw new Error('must be an http:// or https:// URL without a path')
  }
  return url.href
}

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const MOST_ATTEMPTS = 20
const SCHEDULE_WITHIN_MS = 24 * 3_600_000

/** `0,1m,5m,...`: the delay before each attempt, in milliseconds. */
export const schedule: ReadVariable<readonly number[]> = (text) => {
  const delaysMs = listOf((item) => {
    if (item === '0') return 0
    const [, digits, unit = ''] = /^(\d{1,8})(ms|s|m|h)$/.exec(item) ?? []
    const unitMs = UNIT_MS[unit]
    if (unitMs === undefined) throw new Error('must be delays, each 0 or a whole number with ms, s, m or h')
    return Number(digits) * unitMs
  })(text)
  if (delaysMs[0] !== 0) throw new Error('must begin with 0: the first attempt is made at once')
  if (delaysMs.length > MOST_ATTEMPTS) throw new Error(`must have at most ${MOST_ATTEMPTS} delays`)
  if (delaysMs.reduce((sum, delayMs) => sum + delayMs) > SCHEDULE_WITHIN_MS) throw new Error('must stay within 24 h')
  return delaysMs
}

/** The PEM text of a certificate and its chain. */
export const certificateFile: ReadVariable<string> = (path) =>
  pemFile(path, 'certificate', (pem) => new X509Certificate(pem))

/** The PEM text of a private key. */
export const privateKeyFile: ReadVariable<string> = (path) =>
  pemFile(path, 'private key without a passphrase', createPrivateKey)

/** The text of the file at the path. */
export const textFile: ReadVariable<string> = (path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`must name a file that can be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** An address that a person can sign in with. */
export const email = matching(/^[a-z0-9_'+.-]+@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/i, 'must be an email address')

/** An address that the service sends from, in lower case. */
export const senderAddress: ReadVariable<string> = (text) => email(text).toLowerCase()

/** A password of 12 to 128 characters. */
export const password = matching(/^.{12,128}$/su, 'must have 12 to 128 characters')

function pemFile(path: string, what: string, check: (pem: string) => unknown): string {
  const pem = textFile(path)
  try {
    check(pem)
  } catch {
    throw new Error(`must name a PEM file with a ${what}`)
  }
  return pem
}
