import type { Definition } from '../instruments.ts'

const SLOTS = ['in_use', 'waiting']

/** Connections to the recipients' servers, and what DNS and MTA-STS say of them. */
export const NETWORK = {
  smtpConnections: {
    kind: 'gauge',
    name: 'verdict_smtp_connections',
    help: "SMTP connections: in use, idle (kept for reuse), and late (waiting for a reply after the send's end).",
    labels: { state: ['in_use', 'idle', 'late'] },
    process: 'api',
  },
  smtpWaiting: {
    kind: 'gauge',
    name: 'verdict_smtp_waiting_sends',
    help: 'Sends that wait for a connection because all connections to their site are in use.',
    process: 'api',
  },
  smtpLacking: {
    kind: 'gauge',
    name: 'verdict_smtp_lacking',
    help: '1 while five sites in a row, or all witnesses, lacked it and no server showed it: sends that need it are transient_failure.',
    labels: { lack: ['connection', 'greeting', 'session', 'tls', 'certificate', 'dane', 'mail', 'rcpt', 'data'] },
    process: 'api',
  },
  dnsAnswers: {
    kind: 'counter',
    name: 'verdict_dns_answers_total',
    help: 'Answers of the resolver, by type of record, source (cache or server) and result.',
    labels: {
      type: ['MX', 'A', 'AAAA', 'TXT', 'TLSA'],
      source: ['cache', 'server'],
      result: ['records', 'nodata', 'nxdomain', 'failure', 'no_slot'],
    },
  },
  dnsLookUps: {
    kind: 'gauge',
    name: 'verdict_dns_lookups',
    help: 'DNS look-ups that query servers, and those that wait for a slot.',
    labels: { state: SLOTS },
  },
  stsPolicies: {
    kind: 'counter',
    name: 'verdict_mta_sts_policies_total',
    help: 'Look-ups of MTA-STS policies, by mode of the policy; absent without one.',
    labels: { mode: ['enforce', 'testing', 'none', 'absent', 'no_slot'] },
    process: 'api',
  },
  stsFailures: {
    kind: 'counter',
    name: 'verdict_mta_sts_failures_total',
    help: 'MTA-STS policies that were announced and could not be read; at most one in five minutes for a domain.',
    process: 'api',
  },
  inboundMails: {
    kind: 'counter',
    name: 'verdict_inbound_mails_total',
    help: 'Mails that BOUNCE_PORT accepted, by report (unread: a bounce that was not understood) and what became of it.',
    labels: {
      report: ['bounce', 'complaint', 'unread', 'none'],
      result: ['kept', 'known', 'unknown', 'no_recipient', 'none'],
    },
    process: 'api',
  },
  inboundFailures: {
    kind: 'counter',
    name: 'verdict_inbound_failures_total',
    help: 'Mails that BOUNCE_PORT refused for now because they could not be stored. Their senders try again.',
    process: 'api',
  },
  smtpFrontMessages: {
    kind: 'counter',
    name: 'verdict_smtp_front_messages_total',
    help: 'Replies to the final dot over SMTP_FRONT_PORT, SMTP_FRONT_TLS_PORT and SMTP_FRONT_LMTP_PORT (closed: none). Over SMTP a message has one, over LMTP each recipient.',
    labels: { reply: ['accepted', 'temporary', 'permanent', 'closed'] },
    process: 'api',
  },
  smtpFrontConnections: {
    kind: 'gauge',
    name: 'verdict_smtp_front_connections',
    help: 'Open connections of SMTP_FRONT_PORT, SMTP_FRONT_TLS_PORT and SMTP_FRONT_LMTP_PORT together.',
    process: 'api',
  },
  certificateEnd: {
    kind: 'gauge',
    name: 'verdict_certificate_expiry_timestamp_seconds',
    help: 'When the certificate of TLS_CERT_FILE, or that of SMTP_FRONT_CERT_FILE, expires first, in Unix seconds. Absent without TLS.',
    process: 'api',
  },
} as const satisfies Record<string, Definition>
