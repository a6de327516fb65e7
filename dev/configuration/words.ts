import type { Variables } from '../../server/config/variables.ts'

// The words of docs/configuration.md. Names, examples, what is required and defaults that are values come from the
// table that the processes read.

/** In Markdown. */
export interface Words {
  meaning: string
  /** For a default that is no value of the table, or that deserves more words. */
  byDefault?: string
}

export interface Section {
  title: string
  text?: string
  rows: { [Key in keyof Variables]?: Words }
}

export const INTRODUCTION = `# Configuration

Every process reads its configuration from environment variables, once, when it starts. An empty variable counts as not
set. A process with an invalid configuration exits with code 78 and reports all faults at once, each with an example. A
variable whose name looks like a misspelt known one is reported in the log, or beside the faults. One that only an
earlier version had is a fault, which names what does its work.

You can put a secret into a file instead, the way systemd, Docker and Kubernetes pass secrets: set \`<NAME>_FILE\` to the
file's path, and leave \`<NAME>\` unset. Line breaks at the end of the file do not count.

Production requires \`DATABASE_URL\`, \`ENCRYPTION_KEYS\`, \`TEMPORAL_ADDRESS\`, \`PUBLIC_URL\` and \`DATA_REGION\`. \`npm start\` requires
nothing.
`

export const SECTIONS: readonly Section[] = [
  {
    title: 'The process',
    rows: {
      production: {
        meaning:
          '`production`, `development` or `test`. In `production` the variables marked below are required, and `npm start` refuses to run.',
        byDefault: '`development`',
      },
      host: { meaning: 'The address of the port that serves REST, Connect, gRPC and the reference.' },
      port: { meaning: 'The port that serves all protocols. 0 selects a free port.' },
      publicUrl: {
        meaning:
          'Where callers reach the service. It is the base of the OpenAPI document at `/api/v1/openapi.json`, so generated clients call this URL. It is also the issuer of [receipts](receipts.md).',
        byDefault: 'else the address it listens on',
      },
      allowedHosts: {
        meaning:
          'Further host names under which the [dashboard](dashboard.md) answers, each with a port or without (then any port). It always answers to the host of `PUBLIC_URL`, to IP addresses and to `localhost`. Other names get 421. The API, health and metrics answer to every name.',
      },
      tlsCert: {
        meaning:
          'The certificate chain (PEM) for TLS on `PORT`. Requires `TLS_KEY_FILE`. Read again on SIGHUP and when it changes.',
      },
      tlsKey: { meaning: 'The private key (PEM) of that certificate.' },
      trustProxy: {
        meaning:
          "Addresses and ranges of your proxies. The caller's address is read from `X-Forwarded-For` only when one of them sent the request.",
      },
      drainGraceMs: {
        meaning:
          'How long after SIGTERM requests are still served while `/readyz` already returns 503, so that load balancers notice.',
        byDefault: '`5000` in production, else `0`',
      },
      drainMs: {
        meaning: 'How long accepted requests have to finish after the grace period.',
        byDefault: '`120000`, the longest call + 10 s',
      },
      logLevel: {
        meaning:
          '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`. Logs are JSON lines on standard output.',
      },
      dataRegion: { meaning: 'The region stored with every message and shown by `/healthz`.' },
      dataDir: {
        meaning:
          'The folder where `npm start` keeps its database, keys and logs, and where the command line looks for them.',
        byDefault: '`.verdict`',
      },
      readyFile: {
        meaning: 'The file to which `npm start` writes its URLs, keys and process id as JSON when it is ready.',
      },
      simulatorInbox: {
        meaning:
          "`true` keeps the newest messages to `simulator.test` in memory, for the dashboard's inbox. Refused in production.",
        byDefault: '`false`; with `npm start` `true`',
      },
    },
  },
  {
    title: 'Database and secrets',
    rows: {
      databaseUrl: {
        meaning:
          'PostgreSQL 15 or later: one server, or several with [fail-over](failover.md). With `?prepare=false` for [PgBouncer](scaling.md#pgbouncer) in transaction mode.',
        byDefault: '`npm start` brings one',
      },
      databaseReadUrl: {
        meaning:
          'One [replica](scaling.md#read-replicas) of the database, or several as in `DATABASE_URL`. It serves lists and statistics, which may be up to 10 seconds behind. The primary serves them while no replica follows closely.',
      },
      encryptionKeys: {
        meaning:
          'The keys that encrypt the stored secrets, each an id and 32 bytes in base64. The first one encrypts, all of them decrypt.',
        byDefault: '`npm start` makes one',
      },
      lostEncryptionKeys: {
        meaning:
          'The ids of keys that are gone for ever. The API starts although it cannot open what they sealed. Sends and webhooks that need it fail until their domain or endpoint is created again, and receipts until `npx verdict receipt rotate-key`. People with a second factor cannot sign in until they are removed and invited again. If an address was ever erased, see [erasure](erasure.md#the-hash-and-what-it-protects-from).',
      },
      backupFile: {
        meaning:
          'A file that each [back-up](backup.md#base-back-up-and-wal) writes when it has ended. Its time is the age of ' +
          'the newest back-up in the doctor, the metrics and an alert.',
      },
      storeContent: { meaning: '`true` stores `html` and `text` of every message, and Get email returns them.' },
      historyArchive: {
        meaning:
          'A folder or a bucket for [history that is older than 90 days](archive.md). The worker writes each day there ' +
          'when it is 88 days old. The region, keys and endpoint of a bucket come from the variables of Amazon: ' +
          '`AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_ENDPOINT_URL_S3`. Keep it in `DATA_REGION`.',
      },
      historyArchiveRequired: {
        meaning:
          '`true` keeps every day in PostgreSQL until the archive has it. Otherwise a day that could not be written is ' +
          'dropped when it is 97 days old, or from 90 days on when the disk of the database is 85 % full.',
      },
      contentRetentionDays: {
        meaning:
          'For how many days stored `html` and `text` are kept; 90 is as long as the message itself. The worker removes ' +
          'them once a day, by whole days (UTC).',
      },
    },
  },
  {
    title: 'The dashboard',
    text: "Its links begin with `PUBLIC_URL`. When that is https, browsers send the dashboard's cookie over https only.",
    rows: {
      adminEmail: {
        meaning:
          'While there is an account and no person, the API creates one with this address when it starts, as an owner of every account. After the first `npx verdict accounts create`, restart one API process. Without it, `npx verdict people set-up` prints a link that works once.',
      },
      adminPassword: {
        meaning:
          'The password of that person, 12 to 128 characters. Changing it later changes nothing: people change their passwords in the dashboard.',
      },
      oidcIssuer: {
        meaning:
          'The issuer of OpenID Connect that people may [sign in with](sign-in.md), exactly as its discovery document names it. An https URL; http is accepted on loopback. Requires the two variables below.',
      },
      oidcClientId: { meaning: 'The client id that the issuer has given this service.' },
      oidcClientSecret: { meaning: 'The client secret that the issuer has given this service.' },
      notifyFrom: {
        meaning:
          'An address of a verified domain, of any account. [Notifications](notifications.md), [invitations and links that set a new password](sign-in.md) are mailed from it, through the service itself. Without it notifications go to a notification URL only.',
      },
    },
  },
  {
    title: 'Metrics',
    text: 'The API and the worker serve [their metrics](metrics.md) at `/metrics`, each on a port of its own, without a key. By default only this machine reaches these ports. To let a Prometheus on another machine read them, set `METRICS_HOST` to a private address of this machine: never to a public one. `PORT` never serves metrics. When a port is taken, the process works without metrics, says so in the log, and tries the port again every 10 seconds.',
    rows: {
      metricsHost: { meaning: 'The address of both ports.' },
      metricsPort: {
        meaning:
          "The port of the API's metrics. Several API processes on one machine need one port each. 0 selects a free port; the log names it.",
      },
      workerMetricsPort: { meaning: "The port of the worker's metrics." },
      otlpEndpoint: {
        meaning:
          "Pushes metrics and [traces](tracing.md) to this collector by OTLP over HTTP (protobuf). OpenTelemetry's other `OTEL_EXPORTER_OTLP_*` variables, such as the one for headers, work as OpenTelemetry describes them.",
      },
      otlpMetricsEndpoint: { meaning: 'The whole URL for metrics, in place of the one above.' },
      otlpMetricsIntervalMs: { meaning: 'Milliseconds from one push of metrics to the next.' },
      tracesEndpoint: {
        meaning:
          'The whole URL for traces, in place of `OTEL_EXPORTER_OTLP_ENDPOINT`. Without either no traces are recorded.',
        byDefault: 'that of `OTEL_EXPORTER_OTLP_ENDPOINT`',
      },
      tracesSampler: {
        meaning:
          '`always_on`, `always_off`, `traceidratio`, or one of them after `parentbased_`, which also records the traces that the caller records. See [Tracing](tracing.md).',
      },
      tracesSamplerArg: { meaning: 'The share of new traces that a sampler with a ratio records, 0 to 1.' },
    },
  },
  {
    title: 'Sending mail',
    rows: {
      smtpSourceAddresses: {
        meaning: 'The addresses of this machine that mail leaves from. The SPF record of every domain contains them.',
        byDefault: 'none: the system chooses',
      },
      smtpPublicAddresses: {
        meaning: 'The addresses that receivers see, if they differ (NAT) or several machines send.',
        byDefault: 'those of `SMTP_SOURCE_ADDRESSES`, or detected',
      },
      smtpHeloName: {
        meaning:
          'The full name of this machine, for the greeting and the MX record of bounces. Receivers reject mail from unknown names.',
        byDefault: 'the host name',
      },
      returnPathHost: {
        meaning:
          'Your host name with the SPF and MX records of all domains. Each domain then publishes one CNAME to it.',
        byDefault: 'none: `rp.<domain>` has its own records',
      },
      smtpPort: { meaning: "The port of the recipients' mail servers." },
      dnssec: {
        meaning:
          '`trust` uses [DANE](how-a-send-works.md#tls): the resolvers of `DNS_SERVERS` must validate by DNSSEC, and their addresses must be loopback or private ones.',
      },
      smtpRoutes: { meaning: 'Static routes: mail to these domains goes to this host and port, regardless of DNS.' },
      smtpAllowSubnets: {
        meaning:
          "Private ranges that recipients' servers may be in. By default the service never connects to private addresses.",
      },
      sendBudgetMs: {
        meaning: 'The time one send may take, 20,000 to 60,000. Clients must be ready to wait that long.',
      },
      dnsServers: {
        meaning: 'The DNS resolvers, each `ip`, `ip:port` or `[ip]:port`.',
        byDefault: 'those of the system',
      },
      bouncePort: { meaning: 'The port that receives late bounces and complaints. See [bounces](bounces.md).' },
      bounceHost: { meaning: 'The address of `BOUNCE_PORT`.', byDefault: 'that of `HOST`' },
      smtpFrontPort: { meaning: 'The port that takes mail over SMTP. See [SMTP](smtp.md).', byDefault: 'none' },
      smtpFrontTlsPort: {
        meaning: 'A further port for the same, where TLS begins with the connection. It needs a certificate.',
        byDefault: 'none',
      },
      smtpFrontLmtpPort: {
        meaning: 'The port that takes mail from mail servers over LMTP: each recipient has a reply of its own.',
        byDefault: 'none',
      },
      smtpFrontHost: {
        meaning: 'The address of these ports. Outside loopback they need a certificate.',
        byDefault: 'that of `HOST`',
      },
      smtpFrontCert: {
        meaning:
          'The certificate chain (PEM) of these ports, where a proxy has that of `PORT`. Requires `SMTP_FRONT_KEY_FILE`. Read again on SIGHUP and when it changes.',
        byDefault: '`TLS_CERT_FILE`',
      },
      smtpFrontKey: { meaning: 'The private key of `SMTP_FRONT_CERT_FILE`.', byDefault: '`TLS_KEY_FILE`' },
    },
  },
  {
    title: 'Webhooks and Temporal',
    rows: {
      temporalAddress: {
        meaning: 'The address of the Temporal server that retries and replays webhooks.',
        byDefault: '`npm start` brings one',
      },
      temporalNamespace: { meaning: 'The Temporal namespace.' },
      temporalApiKey: { meaning: 'The API key, if Temporal requires one. Implies TLS.' },
      temporalTls: {
        meaning: '`true` connects to Temporal over TLS.',
        byDefault: '`true` when one of the next four or an API key is set, else `false`',
      },
      temporalTlsCa: {
        meaning: "The certificate authorities (PEM) to trust for Temporal's certificate.",
        byDefault: "the system's authorities",
      },
      temporalTlsCert: { meaning: 'The client certificate (PEM) for Temporal. Requires `TEMPORAL_TLS_KEY_FILE`.' },
      temporalTlsKey: { meaning: 'The private key (PEM) of that certificate.' },
      temporalTlsServerName: {
        meaning: "The name expected in Temporal's certificate.",
        byDefault: 'the host of `TEMPORAL_ADDRESS`',
      },
      temporalUiUrl: {
        meaning: 'The base of links to workflows (`workflow_url` of a dispatch).',
        byDefault: 'none; `npm start` brings one',
      },
      webhookAllowSubnets: {
        meaning: 'Ranges in which endpoints may have private addresses, plain http and any port.',
        byDefault: 'none; with `npm start` this machine',
      },
      webhookSchedule: {
        meaning: 'The delay before each attempt; meant for tests. Units: `ms`, `s`, `m`, `h`.',
        byDefault: '`0,1m,5m,15m,1h,6h`',
      },
      webhookProxy: { meaning: 'An HTTP proxy for every webhook request.' },
    },
  },
  {
    title: 'Limits',
    rows: {
      tiers: {
        meaning:
          'A JSON file with requests per minute by tier, warm-up steps, circuit breaker thresholds, pools of addresses and limits of sites. See [limits](limits.md).',
        byDefault: 'built in',
      },
      defaultTier: { meaning: 'The tier of accounts without a tier of their own.' },
    },
  },
]

/** Variables that only the command line or `npm start` reads. */
export const ELSEWHERE: readonly {
  title: string
  text: string
  rows: Record<string, Required<Words> & { example: string }>
}[] = [
  {
    title: 'The command line',
    text: 'Only `npx verdict` reads these variables. It also reads `DATABASE_URL`, `ENCRYPTION_KEYS` and `DATA_DIR`.',
    rows: {
      VERDICT_URL: {
        meaning: 'The service that user commands call.',
        byDefault: 'the instance that `npm start` runs here',
        example: 'https://mail.example.com',
      },
      VERDICT_API_KEY: {
        meaning: 'The API key for these calls.',
        byDefault: 'the live key of that instance',
        example: 'svc_live_...',
      },
      NO_COLOR: {
        meaning: 'Any value turns off the colours of `verdict doctor`.',
        byDefault: 'none',
        example: '1',
      },
    },
  },
  {
    title: 'Development',
    text: 'Only `npm start` reads these variables, to find or build Temporal.',
    rows: {
      XDG_CACHE_HOME: {
        meaning: 'The folder that contains the cache; Temporal is in its subfolder `verdict`.',
        byDefault: '`~/.cache`',
        example: '/var/cache',
      },
      GOPROXY: {
        meaning: 'The source of the Go toolchain, if the machine has none.',
        byDefault: '`https://proxy.golang.org`',
        example: 'https://proxy.golang.org',
      },
    },
  },
]
