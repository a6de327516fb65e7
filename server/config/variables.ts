import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { DEFAULT_LIMITS, longestCallMs } from './limits.ts'
import { type FileLimits, limitsFile } from './limits-file.ts'
import { RETRY_SCHEDULE } from './retry-schedule.ts'
import type { ArchivePlace } from './values.ts'
import * as values from './values.ts'

/** The value of each variable. */
export interface Variables {
  production: boolean
  host: string
  /** 0 takes a free port. */
  port: number
  databaseUrl: string
  /** Replicas for lists and statistics; undefined means that the primary serves them. */
  databaseReadUrl: string | undefined
  /** The first key encrypts, all of them decrypt. */
  encryptionKeys: readonly { id: string; key: Buffer }[]
  /** The ids of keys that are gone for ever: the API starts although it cannot open what they sealed. */
  lostEncryptionKeys: readonly string[]
  /** A file that each back-up of the database writes; undefined means that only the archive of WAL tells its age. */
  backupFile: string | undefined
  /** Without the final slash; undefined means the address that the API listens on. */
  publicUrl: string | undefined
  /** Hosts of the dashboard beside that of `publicUrl`: `name`, or `name:port`. */
  allowedHosts: readonly string[]
  /** PEM. */
  tlsCert: string | undefined
  /** PEM. */
  tlsKey: string | undefined
  /** Proxies whose headers are trusted, in CIDR notation. */
  trustProxy: readonly string[]
  /** How long the API still serves requests after a signal to stop, while `/readyz` already fails. */
  drainGraceMs: number
  /** How long accepted requests may take after that. */
  drainMs: number
  /** `host:port`; undefined without Temporal. Retries wait for it, and replays are refused. */
  temporalAddress: string | undefined
  temporalNamespace: string
  temporalApiKey: string | undefined
  /** PEM. */
  temporalTlsCa: string | undefined
  /** PEM. */
  temporalTlsCert: string | undefined
  /** PEM. */
  temporalTlsKey: string | undefined
  temporalTlsServerName: string | undefined
  temporalTls: boolean
  /** The base of links to workflows, without the final slash. */
  temporalUiUrl: string | undefined
  /** In CIDR notation. */
  webhookAllowSubnets: readonly string[]
  /** The delay before each attempt, in milliseconds. */
  webhookSchedule: readonly number[]
  webhookProxy: string | undefined
  /** `ip`, `ip:port` or `[ip]:port`; undefined means the system's. */
  dnsServers: readonly string[] | undefined
  dnssec: 'off' | 'trust'
  smtpPort: number
  smtpRoutes: ReadonlyMap<string, { host: string; port: number }>
  /** In CIDR notation. */
  smtpAllowSubnets: readonly string[]
  /** Addresses of this machine. When empty, the system chooses. */
  smtpSourceAddresses: readonly string[]
  /**
   * The addresses that other mail servers see, of all machines that send. By default they are the source addresses.
   * Empty when neither is set.
   */
  smtpPublicAddresses: readonly string[]
  smtpHeloName: string
  /** undefined means `rp.<domain>`. */
  returnPathHost: string | undefined
  /**
   * The port for late bounces and complaints; undefined means that the API does not listen for them. 0 takes a free
   * port.
   */
  bouncePort: number | undefined
  bounceHost: string
  smtpFrontPort: number | undefined
  /** A port where TLS begins with the connection. */
  smtpFrontTlsPort: number | undefined
  /** Mail servers send here by LMTP. */
  smtpFrontLmtpPort: number | undefined
  smtpFrontHost: string
  /** PEM. */
  smtpFrontCert: string | undefined
  /** PEM. */
  smtpFrontKey: string | undefined
  sendBudgetMs: number
  storeContent: boolean
  /** How long stored content is kept. */
  contentRetentionDays: number
  /** Where days of history go before they are dropped; undefined means that they are dropped after 90 days. */
  historyArchive: ArchivePlace | undefined
  /** Whether no day is dropped that the archive does not have. */
  historyArchiveRequired: boolean
  /** Whether people can read the messages that the simulator accepted. Never in production. */
  simulatorInbox: boolean
  dataRegion: string
  tiers: FileLimits
  /** One of `tiers`. */
  defaultTier: string
  /** The first person, until there is one. */
  adminEmail: string | undefined
  adminPassword: string | undefined
  /** The issuer of OpenID Connect that people sign in with, exactly as its discovery document names it. */
  oidcIssuer: string | undefined
  oidcClientId: string | undefined
  oidcClientSecret: string | undefined
  /** The sender of the mails that the service writes itself, in lower case; undefined means that it writes none. */
  notifyFrom: string | undefined
  /** Where the API and the worker serve `/metrics`. */
  metricsHost: string
  /** The port of the API's metrics. 0 takes a free port. */
  metricsPort: number
  /** The port of the worker's metrics. 0 takes a free port. */
  workerMetricsPort: number
  /** Where OpenTelemetry's exporters push; undefined means nowhere. The exporters read the variables by themselves. */
  otlpEndpoint: string | undefined
  /** For metrics, in place of the one above. */
  otlpMetricsEndpoint: string | undefined
  /** How often metrics are pushed. */
  otlpMetricsIntervalMs: number
  /** Where spans go; undefined means that no traces are recorded. */
  tracesEndpoint: string | undefined
  tracesSampler: SamplerName
  /** The share of new traces that the samplers with a ratio record. */
  tracesSamplerArg: number
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  /** Absolute. */
  dataDir: string
  readyFile: string | undefined
}

/** As OpenTelemetry names them. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export type SamplerName = (typeof SAMPLERS)[number]

export interface Variable<T> {
  name: string
  read: values.ReadVariable<T>
  example: string
  required?: 'always' | 'in production'
  /** Its value may be in a file instead, which `<name>_FILE` names. */
  secret?: true
  /** May use the variables above it in the table. */
  default?: (variables: Variables) => T
}

const none = () => undefined

/** The time to write the response of the longest call. */
const DRAIN_MARGIN_MS = 10_000

/** An operator who sets one of these variables wants TLS. */
export const NEEDS_TEMPORAL_TLS = [
  'temporalApiKey',
  'temporalTlsCa',
  'temporalTlsCert',
  'temporalTlsServerName',
] as const

export const VARIABLES: { [Key in keyof Variables]: Variable<Variables[Key]> } = {
  production: {
    name: 'NODE_ENV',
    read: (text) => values.oneOf('production', 'development', 'test')(text) === 'production',
    example: 'production',
    default: () => false,
  },
  host: { name: 'HOST', read: values.host, example: '0.0.0.0', default: () => '127.0.0.1' },
  port: { name: 'PORT', read: values.port, example: '8080', default: () => 8080 },
  databaseUrl: {
    name: 'DATABASE_URL',
    read: values.databaseUrl,
    example: 'postgres://verdict:secret@db.internal:5432/verdict',
    required: 'always',
    secret: true,
  },
  databaseReadUrl: {
    name: 'DATABASE_READ_URL',
    read: values.databaseReadUrl,
    example: 'postgres://verdict:secret@replica.internal:5432/verdict',
    secret: true,
    default: none,
  },
  encryptionKeys: {
    name: 'ENCRYPTION_KEYS',
    read: values.encryptionKeys,
    example: '"k1:$(openssl rand -base64 32)"',
    required: 'always',
    secret: true,
  },
  lostEncryptionKeys: {
    name: 'LOST_ENCRYPTION_KEYS',
    read: values.listOf(values.keyId),
    example: 'k1',
    default: () => [],
  },
  backupFile: { name: 'BACKUP_FILE', read: values.text, example: '/var/backups/verdict/done', default: none },
  tlsCert: { name: 'TLS_CERT_FILE', read: values.certificateFile, example: '/etc/verdict/tls.crt', default: none },
  tlsKey: { name: 'TLS_KEY_FILE', read: values.privateKeyFile, example: '/etc/verdict/tls.key', default: none },
  publicUrl: {
    name: 'PUBLIC_URL',
    read: values.publicUrl,
    example: 'https://mail.example.com',
    required: 'in production',
    default: none,
  },
  allowedHosts: {
    name: 'ALLOWED_HOSTS',
    read: values.listOf(values.allowedHost),
    example: 'mail.internal.example.com,mail.example.net:8443',
    default: () => [],
  },
  trustProxy: { name: 'TRUST_PROXY', read: values.listOf(values.subnet), example: '10.0.0.0/8', default: () => [] },
  dnsServers: {
    name: 'DNS_SERVERS',
    read: values.listOf(values.dnsServer),
    example: '192.0.2.53,192.0.2.54:5353',
    default: none,
  },
  dnssec: { name: 'DNSSEC', read: values.oneOf('off', 'trust'), example: 'trust', default: () => 'off' },
  smtpPort: { name: 'SMTP_PORT', read: values.wholeNumber(1, 65_535), example: '25', default: () => 25 },
  smtpRoutes: {
    name: 'SMTP_ROUTES',
    read: values.routes,
    example: 'example.com=mail.internal:2525',
    default: () => new Map(),
  },
  smtpAllowSubnets: {
    name: 'SMTP_ALLOW_SUBNETS',
    read: values.listOf(values.subnet),
    example: '10.1.0.0/16',
    default: () => [],
  },
  smtpSourceAddresses: {
    name: 'SMTP_SOURCE_ADDRESSES',
    read: values.listOf(values.ipAddress),
    example: '192.0.2.25,2001:db8::25',
    default: () => [],
  },
  smtpPublicAddresses: {
    name: 'SMTP_PUBLIC_ADDRESSES',
    read: values.listOf(values.ipAddress),
    example: '192.0.2.25,192.0.2.26',
    default: ({ smtpSourceAddresses = [] }) => smtpSourceAddresses,
  },
  smtpHeloName: { name: 'SMTP_HELO_NAME', read: values.hostName, example: 'mail.example.com', default: hostname },
  returnPathHost: { name: 'RETURN_PATH_HOST', read: values.hostName, example: 'bounces.example.com', default: none },
  bouncePort: { name: 'BOUNCE_PORT', read: values.port, example: '25', default: none },
  bounceHost: { name: 'BOUNCE_HOST', read: values.host, example: '0.0.0.0', default: ({ host }) => host },
  smtpFrontPort: { name: 'SMTP_FRONT_PORT', read: values.port, example: '587', default: none },
  smtpFrontTlsPort: { name: 'SMTP_FRONT_TLS_PORT', read: values.port, example: '465', default: none },
  smtpFrontLmtpPort: { name: 'SMTP_FRONT_LMTP_PORT', read: values.port, example: '24', default: none },
  smtpFrontHost: { name: 'SMTP_FRONT_HOST', read: values.host, example: '0.0.0.0', default: ({ host }) => host },
  smtpFrontCert: {
    name: 'SMTP_FRONT_CERT_FILE',
    read: values.certificateFile,
    example: '/etc/verdict/tls.crt',
    default: none,
  },
  smtpFrontKey: {
    name: 'SMTP_FRONT_KEY_FILE',
    read: values.privateKeyFile,
    example: '/etc/verdict/tls.key',
    default: none,
  },
  sendBudgetMs: {
    name: 'SEND_BUDGET_MS',
    read: values.wholeNumber(20_000, 60_000),
    example: '30000',
    default: () => 30_000,
  },
  drainGraceMs: {
    name: 'DRAIN_GRACE_MS',
    read: values.wholeNumber(0, 600_000),
    example: '5000',
    default: ({ production }) => (production ? 5_000 : 0),
  },
  drainMs: {
    name: 'DRAIN_MS',
    read: values.wholeNumber(0, 3_600_000),
    example: '120000',
    default: ({ sendBudgetMs }) => longestCallMs(sendBudgetMs) + DRAIN_MARGIN_MS,
  },
  temporalAddress: {
    name: 'TEMPORAL_ADDRESS',
    read: values.address,
    example: 'temporal.internal:7233',
    required: 'in production',
    default: none,
  },
  temporalNamespace: {
    name: 'TEMPORAL_NAMESPACE',
    read: values.text,
    example: 'verdict.a1b2c',
    default: () => 'default',
  },
  temporalApiKey: {
    name: 'TEMPORAL_API_KEY',
    read: values.text,
    example: '"$(cat temporal.key)"',
    secret: true,
    default: none,
  },
  temporalTlsCa: {
    name: 'TEMPORAL_TLS_CA_FILE',
    read: values.certificateFile,
    example: '/etc/verdict/temporal-ca.crt',
    default: none,
  },
  temporalTlsCert: {
    name: 'TEMPORAL_TLS_CERT_FILE',
    read: values.certificateFile,
    example: '/etc/verdict/temporal.crt',
    default: none,
  },
  temporalTlsKey: {
    name: 'TEMPORAL_TLS_KEY_FILE',
    read: values.privateKeyFile,
    example: '/etc/verdict/temporal.key',
    default: none,
  },
  temporalTlsServerName: {
    name: 'TEMPORAL_TLS_SERVER_NAME',
    read: values.hostName,
    example: 'temporal.example.com',
    default: none,
  },
  temporalTls: {
    name: 'TEMPORAL_TLS',
    read: values.yesOrNo,
    example: 'true',
    default: (variables) => NEEDS_TEMPORAL_TLS.some((key) => variables[key] !== undefined),
  },
  temporalUiUrl: {
    name: 'TEMPORAL_UI_URL',
    read: values.publicUrl,
    example: 'https://temporal.example.com',
    default: none,
  },
  webhookAllowSubnets: {
    name: 'WEBHOOK_ALLOW_SUBNETS',
    read: values.listOf(values.subnet),
    example: '10.1.0.0/16',
    default: () => [],
  },
  webhookSchedule: {
    name: 'WEBHOOK_SCHEDULE',
    read: values.schedule,
    example: '0,1m,5m,15m,1h,6h',
    default: () => RETRY_SCHEDULE.map(({ delayMs }) => delayMs),
  },
  webhookProxy: {
    name: 'WEBHOOK_PROXY',
    read: values.proxyUrl,
    example: 'http://proxy.internal:3128',
    secret: true,
    default: none,
  },
  storeContent: { name: 'STORE_CONTENT', read: values.yesOrNo, example: 'true', default: () => false },
  contentRetentionDays: {
    name: 'CONTENT_RETENTION_DAYS',
    read: values.wholeNumber(1, 90),
    example: '30',
    default: () => 90,
  },
  historyArchive: {
    name: 'HISTORY_ARCHIVE',
    read: values.archivePlace,
    example: 's3://verdict-history/eu',
    default: none,
  },
  historyArchiveRequired: {
    name: 'HISTORY_ARCHIVE_REQUIRED',
    read: values.yesOrNo,
    example: 'true',
    default: () => false,
  },
  simulatorInbox: { name: 'SIMULATOR_INBOX', read: values.yesOrNo, example: 'true', default: () => false },
  dataRegion: {
    name: 'DATA_REGION',
    read: values.matching(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -'),
    example: 'eu',
    required: 'in production',
    default: () => 'eu',
  },
  tiers: { name: 'TIERS_FILE', read: limitsFile, example: '/etc/verdict/tiers.json', default: () => DEFAULT_LIMITS },
  defaultTier: {
    name: 'DEFAULT_TIER',
    read: values.text,
    example: DEFAULT_LIMITS.defaultTier,
    default: () => DEFAULT_LIMITS.defaultTier,
  },
  adminEmail: { name: 'ADMIN_EMAIL', read: values.email, example: 'ann@example.com', default: none },
  adminPassword: {
    name: 'ADMIN_PASSWORD',
    read: values.password,
    example: '"$(openssl rand -base64 18)"',
    secret: true,
    default: none,
  },
  oidcIssuer: { name: 'OIDC_ISSUER', read: values.issuer, example: 'https://accounts.example.com', default: none },
  oidcClientId: { name: 'OIDC_CLIENT_ID', read: values.text, example: 'verdict', default: none },
  oidcClientSecret: {
    name: 'OIDC_CLIENT_SECRET',
    read: values.text,
    example: '"$(cat oidc.secret)"',
    secret: true,
    default: none,
  },
  notifyFrom: {
    name: 'NOTIFY_FROM',
    read: values.senderAddress,
    example: 'verdict@example.com',
    default: none,
  },
  metricsHost: { name: 'METRICS_HOST', read: values.host, example: '10.0.0.5', default: () => '127.0.0.1' },
  metricsPort: { name: 'METRICS_PORT', read: values.port, example: '9464', default: () => 9464 },
  workerMetricsPort: { name: 'WORKER_METRICS_PORT', read: values.port, example: '9465', default: () => 9465 },
  otlpEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    read: values.publicUrl,
    example: 'http://127.0.0.1:4318',
    default: none,
  },
  otlpMetricsEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    read: values.publicUrl,
    example: 'http://127.0.0.1:4318/v1/metrics',
    default: none,
  },
  otlpMetricsIntervalMs: {
    name: 'OTEL_METRIC_EXPORT_INTERVAL',
    read: values.wholeNumber(1_000, 3_600_000),
    example: '15000',
    default: () => 60_000,
  },
  tracesEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    read: values.publicUrl,
    example: 'http://127.0.0.1:4318/v1/traces',
    default: ({ otlpEndpoint }) => otlpEndpoint,
  },
  tracesSampler: {
    name: 'OTEL_TRACES_SAMPLER',
    read: values.oneOf(...SAMPLERS),
    example: 'parentbased_traceidratio',
    default: () => 'parentbased_traceidratio',
  },
  tracesSamplerArg: { name: 'OTEL_TRACES_SAMPLER_ARG', read: values.share, example: '0.01', default: () => 0.01 },
  logLevel: {
    name: 'LOG_LEVEL',
    read: values.oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    example: 'info',
    default: () => 'info',
  },
  dataDir: { name: 'DATA_DIR', read: (path) => resolve(path), example: '.verdict', default: () => resolve('.verdict') },
  readyFile: { name: 'VERDICT_READY_FILE', read: values.text, example: '/run/verdict/ready.json', default: none },
}

/** Variables that are gone, and what does their work. A process that is given one does not start. */
export const REMOVED: Readonly<Record<string, string>> = {
  GRPC_PORT: 'PORT serves gRPC, too, and a proxy can lead any other port to it',
  METRICS_DOMAINS:
    'statistics count by recipient domain (`npx verdict stats --by recipient_domain`), and verdict_provider_recipients_total by provider',
  SMTP_FRONT_RECIPIENTS: 'mail servers use LMTP (SMTP_FRONT_LMTP_PORT), where each recipient has a reply of its own',
  SMTP_FRONT_TLS: 'SMTP_FRONT_TLS_PORT is the port where TLS begins with the connection',
  WEBHOOK_FIRST_ATTEMPT: 'the process that stored an event always makes its first attempt',
}
