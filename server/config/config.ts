import { isOwnDnsServer } from './dns-servers.ts'
import { type CertificateFiles, fits, type KeyPair } from './key-pair.ts'
import type { OperatorLimits } from './limits.ts'
import { isLoopback, textFile } from './values.ts'
import { NEEDS_TEMPORAL_TLS, REMOVED, VARIABLES, type Variable, type Variables } from './variables.ts'

type Combined =
  | 'tlsCert'
  | 'tlsKey'
  | 'smtpFrontCert'
  | 'smtpFrontKey'
  | 'tiers'
  | 'defaultTier'
  | 'adminEmail'
  | 'adminPassword'
  | OidcVariable
  | TemporalVariable

type OidcVariable = 'oidcIssuer' | 'oidcClientId' | 'oidcClientSecret'

type TemporalVariable = Exclude<Extract<keyof Variables, `temporal${string}`>, 'temporalUiUrl'>

export interface Config extends Readonly<Omit<Variables, Combined>> {
  /** What the port shows; undefined without TLS. */
  tls: CertificateFiles | undefined
  /** What the SMTP front shows: its own certificate, or that of the port; undefined without TLS. */
  smtpFrontCertificate: CertificateFiles | undefined
  /** undefined when TEMPORAL_ADDRESS is not set. */
  temporal: TemporalConfig | undefined
  limits: OperatorLimits
  /** The first person, until there is one; undefined when ADMIN_EMAIL is not set. */
  admin: { email: string; password: string } | undefined
  /** undefined when OIDC_ISSUER is not set. */
  oidc: { issuer: string; clientId: string; clientSecret: string } | undefined
}

/** How to connect to Temporal. */
export interface TemporalConfig {
  /** `host:port` */
  address: string
  namespace: string
  apiKey: string | undefined
  /** undefined means plain text. `ca` (PEM) replaces the system's authorities. `client` is the client certificate. */
  tls: { ca: string | undefined; client: KeyPair | undefined; serverName: string | undefined } | undefined
}

export interface Fault {
  /** The variable's name. */
  name: string
  why: string
  /** A valid setting: `PORT=8080`. */
  example: string
}

type Environment = Readonly<Record<string, string | undefined>>
type Key = keyof Variables

/**
 * Reads the whole environment once into one frozen object, or returns all its faults. An empty variable counts as not
 * set. `warnings` names variables that look misspelt. Reads the files that TLS_* and TIERS_FILE name.
 */
export function readConfig(env: Environment): { config: Config; warnings: string[] } | { faults: Fault[] } {
  const { variables, faults } = read(env, Object.keys(VARIABLES) as Key[])
  faults.push(
    ...removedFaults(env),
    ...keyPairFaults(env, variables, 'tlsCert', 'tlsKey'),
    ...keyPairFaults(env, variables, 'smtpFrontCert', 'smtpFrontKey'),
    ...keyPairFaults(env, variables, 'temporalTlsCert', 'temporalTlsKey'),
    ...temporalFaults(variables),
    ...tierFaults(variables),
    ...inboxFaults(variables),
    ...smtpFrontFaults(variables),
    ...dnssecFaults(variables),
    ...archiveFaults(variables),
    ...adminFaults(variables),
    ...oidcFaults(env, variables),
  )
  if (faults.length > 0) return { faults }
  return { config: combine(variables, env), warnings: misspeltNames(env) }
}

function combine(variables: Variables, env: Environment): Config {
  const { tlsCert, tlsKey, tiers, defaultTier, adminEmail: email, adminPassword: password, ...more } = variables
  const { temporalAddress: address, temporalNamespace: namespace, temporalApiKey: apiKey, ...rest } = more
  const { temporalTls, temporalTlsCa: ca, temporalTlsCert, temporalTlsKey, temporalTlsServerName, ...last } = rest
  const { smtpFrontCert, smtpFrontKey, oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret, ...others } = last
  const ofPort = certificateFiles(env, variables, 'tlsCert', 'tlsKey')
  const client = keyPair(temporalTlsCert, temporalTlsKey)
  const tls = temporalTls ? { ca, client, serverName: temporalTlsServerName } : undefined
  return Object.freeze({
    ...others,
    tls: ofPort,
    smtpFrontCertificate: certificateFiles(env, variables, 'smtpFrontCert', 'smtpFrontKey') ?? ofPort,
    temporal: address === undefined ? undefined : { address, namespace, apiKey, tls },
    limits: Object.freeze({ ...tiers, defaultTier }),
    admin: email && password ? { email, password } : undefined,
    oidc: issuer && clientId && oidcClientSecret ? { issuer, clientId, clientSecret: oidcClientSecret } : undefined,
  })
}

function keyPair(cert: string | undefined, key: string | undefined): KeyPair | undefined {
  return cert && key ? { cert, key } : undefined
}

function certificateFiles(
  env: Environment,
  variables: Variables,
  certOf: 'tlsCert' | 'smtpFrontCert',
  keyOf: 'tlsKey' | 'smtpFrontKey',
): CertificateFiles | undefined {
  const pair = keyPair(variables[certOf], variables[keyOf])
  const [certVariable, keyVariable] = [VARIABLES[certOf].name, VARIABLES[keyOf].name]
  const files = keyPair(env[certVariable], env[keyVariable])
  return pair && files && { ...pair, certVariable, keyVariable, certFile: files.cert, keyFile: files.key }
}

/** Reads some variables only, for a command that needs only these. */
export function readVariables<Wanted extends Key>(
  env: Environment,
  wanted: readonly Wanted[],
): { variables: Pick<Variables, Wanted> } | { faults: Fault[] } {
  const { variables, faults } = read(env, wanted)
  faults.push(...tierFaults(variables))
  return faults.length > 0 ? { faults } : { variables }
}

function read(env: Environment, wanted: readonly Key[]): { variables: Variables; faults: Fault[] } {
  const variables: Partial<Record<Key, unknown>> = {}
  const faults: Fault[] = []
  for (const key of wanted) {
    const variable: Variable<unknown> = VARIABLES[key]
    try {
      const text = textOf(variable, env)
      if (text) variables[key] = variable.read(text)
      else if (isRequired(variable, env)) throw new Error('must be set')
      else variables[key] = variable.default?.(variables as Variables)
    } catch (error) {
      faults.push(faultOf(variable, (error as Error).message))
    }
  }
  return { variables: variables as Variables, faults }
}

/** The file that holds the value of a secret variable, as containers and systemd give secrets. */
export const fileOf = ({ name }: { name: string }) => `${name}_FILE`

/**
 * The text of a variable. That of a secret may be in a file, where line breaks at its end do not count. Throws an
 * Error that says what must be changed.
 */
export function textOf(variable: Variable<unknown>, env: Environment): string | undefined {
  const text = env[variable.name]
  const path = variable.secret && env[fileOf(variable)]
  if (!path) return text
  if (text) throw new Error(`must not be set when ${fileOf(variable)} is`)
  try {
    const content = textFile(path).replace(/[\r\n]+$/, '')
    if (content) return content
  } catch (error) {
    throw new Error(`cannot be read: ${fileOf(variable)} ${(error as Error).message}`)
  }
  throw new Error(`must be set: the file that ${fileOf(variable)} names is empty`)
}

/**
 * Prints every fault, and the names that look misspelt, because such a name may be why another variable is missing.
 * Ends the process with exit code 78 (EX_CONFIG of sysexits.h).
 */
export function reportFaults(faults: readonly Fault[]): never {
  const lines = faults.map(({ name, why, example }) => `  ${name} ${why}\n    example: ${example}`)
  const misspelt = misspeltNames(process.env).map((warning) => `  ${warning}`)
  console.error(['The configuration is faulty:', ...lines, ...misspelt].join('\n'))
  process.exit(78)
}

function isRequired({ required }: Variable<unknown>, env: Environment): boolean {
  return required === 'always' || (required === 'in production' && env.NODE_ENV === 'production')
}

function faultOf({ name, example }: { name: string; example: string }, why: string): Fault {
  return { name, why, example: `${name}=${example}` }
}

/** A setting that nothing reads any more would be an illusion. */
function removedFaults(env: Environment): Fault[] {
  const given = Object.entries(REMOVED).filter(([name]) => env[name])
  return given.map(([name, instead]) => ({ name, why: `was removed: ${instead}`, example: `unset ${name}` }))
}

function keyPairFaults(env: Environment, variables: Variables, certOf: Key, keyOf: Key): Fault[] {
  const [certFile, keyFile] = [VARIABLES[certOf], VARIABLES[keyOf]]
  if (env[certFile.name] && !env[keyFile.name]) return [faultOf(keyFile, `must be set when ${certFile.name} is`)]
  if (env[keyFile.name] && !env[certFile.name]) return [faultOf(certFile, `must be set when ${keyFile.name} is`)]
  const [cert, key] = [variables[certOf] as string | undefined, variables[keyOf] as string | undefined]
  if (!cert || !key || fits({ cert, key })) return []
  return [faultOf(keyFile, `must name the key of the certificate in ${certFile.name}`)]
}

function temporalFaults(variables: Partial<Variables>): Fault[] {
  if (variables.temporalTls !== false) return []
  const key = NEEDS_TEMPORAL_TLS.find((key) => variables[key] !== undefined)
  return key ? [faultOf(VARIABLES.temporalTls, `must not be false when ${VARIABLES[key].name} is set`)] : []
}

function tierFaults({ tiers, defaultTier }: Partial<Variables>): Fault[] {
  if (!tiers || defaultTier === undefined || Object.hasOwn(tiers.tiers, defaultTier)) return []
  return [faultOf(VARIABLES.defaultTier, `must be one of ${Object.keys(tiers.tiers).join(', ')}`)]
}

function inboxFaults({ production, simulatorInbox }: Variables): Fault[] {
  if (!production || !simulatorInbox) return []
  const { name } = VARIABLES.simulatorInbox
  return [{ name, why: 'must not be true in production: it shows the content of messages', example: `${name}=false` }]
}

/** A key that travels in clear is everyone's. */
function smtpFrontFaults(variables: Variables): Fault[] {
  const { smtpFrontPort, smtpFrontTlsPort, smtpFrontLmtpPort, smtpFrontHost, smtpFrontCert, tlsCert } = variables
  if ((smtpFrontCert ?? tlsCert) !== undefined) return []
  const { smtpFrontCert: cert, smtpFrontTlsPort: tlsPort } = VARIABLES
  const needed = `must be set, or ${VARIABLES.tlsCert.name},`
  if (smtpFrontTlsPort !== undefined) return [faultOf(cert, `${needed} when ${tlsPort.name} is`)]
  const open = smtpFrontPort !== undefined ? VARIABLES.smtpFrontPort : VARIABLES.smtpFrontLmtpPort
  if ((smtpFrontPort ?? smtpFrontLmtpPort) === undefined || isLoopback(smtpFrontHost)) return []
  return [faultOf(cert, `${needed} when ${open.name} is open beyond loopback`)]
}

/** History that must not be lost needs a place. */
function archiveFaults({ historyArchive, historyArchiveRequired }: Partial<Variables>): Fault[] {
  if (!historyArchiveRequired || historyArchive !== undefined) return []
  return [faultOf(VARIABLES.historyArchive, `must be set when ${VARIABLES.historyArchiveRequired.name} is true`)]
}

/** The bit of a validating resolver is believed, so no other machine of the Internet may be able to set it. */
function dnssecFaults({ dnssec, dnsServers }: Partial<Variables>): Fault[] {
  if (dnssec !== 'trust') return []
  const { dnsServers: servers } = VARIABLES
  const example = `${servers.name}=127.0.0.1`
  if (dnsServers === undefined) return [{ name: servers.name, why: 'must be set when DNSSEC is trust', example }]
  if (dnsServers.every(isOwnDnsServer)) return []
  const why =
    'must be loopback or private addresses when DNSSEC is trust: on the way from others, answers can be forged'
  return [{ name: servers.name, why, example }]
}

function adminFaults({ adminEmail, adminPassword }: Partial<Variables>): Fault[] {
  const { adminEmail: email, adminPassword: password } = VARIABLES
  if (adminEmail !== undefined && adminPassword === undefined) {
    return [faultOf(password, `must be set when ${email.name} is`)]
  }
  if (adminEmail === undefined && adminPassword !== undefined) {
    return [faultOf(email, `must be set when ${password.name} is`)]
  }
  return []
}

const OIDC_KEYS = ['oidcIssuer', 'oidcClientId', 'oidcClientSecret'] as const

/** Each variable needs the others. One whose value is faulty counts as set, and has its own fault. */
function oidcFaults(env: Environment, variables: Partial<Variables>): Fault[] {
  const isGiven = (key: OidcVariable) => {
    const { name } = VARIABLES[key]
    return variables[key] !== undefined || Boolean(env[name] || env[fileOf({ name })])
  }
  const given = OIDC_KEYS.find(isGiven)
  if (given === undefined) return []
  const missing = OIDC_KEYS.filter((key) => !isGiven(key))
  return missing.map((key) => faultOf(VARIABLES[key], `must be set when ${VARIABLES[given].name} is`))
}

/**
 * Warns of names that differ from a variable's name in case, in underscores, or by one letter that is wrong, missing,
 * extra or swapped.
 */
export function misspeltNames(env: Environment): string[] {
  const variables: Variable<unknown>[] = Object.values(VARIABLES)
  const names = variables.flatMap((variable) => [variable.name, ...(variable.secret ? [fileOf(variable)] : [])])
  return Object.keys(env).flatMap((name) => {
    if (names.includes(name)) return []
    const similar = names.find((other) => other.length > 5 && isOneSlipFrom(plain(name), plain(other)))
    return similar ? [`${name} is no variable of this service. Was ${similar} meant?`] : []
  })
}

const plain = (name: string) => name.toUpperCase().replaceAll('_', '')

function isOneSlipFrom(a: string, b: string): boolean {
  let start = 0
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++
  const [x, y] = [a.slice(start), b.slice(start)]
  const swapped = x.charAt(1) + x.charAt(0) + x.slice(2) === y
  return x === y || x.slice(1) === y || x === y.slice(1) || x.slice(1) === y.slice(1) || swapped
}
