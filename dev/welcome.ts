export interface Facts {
  url: string
  /** Where programs send by SMTP; undefined when SMTP_FRONT_PORT is not set. */
  smtp: string | undefined
  lmtp: string | undefined
  dashboard: string
  /** The link by which the first person sets a password; undefined when there is a person. */
  setUpLink: string | undefined
  keys: { live: string; test: string }
  /** A description for the user. */
  database: string
  temporalUiUrl: string | undefined
  /** The value of WEBHOOK_ALLOW_SUBNETS. */
  webhookSubnets: string
  /** Paths of files. */
  logs: { api: string; worker: string }
}

/** Printed when everything runs: where things are, and a first request to try. */
export function welcome({
  url,
  smtp,
  lmtp,
  dashboard,
  setUpLink,
  keys,
  database,
  temporalUiUrl,
  webhookSubnets,
  logs,
}: Facts): string {
  return `Verdict is running.

  REST, Connect, gRPC   ${url}
${smtp === undefined ? '' : `  SMTP                  ${smtp}  (any user name, an API key as the password)\n`}${lmtp === undefined ? '' : `  LMTP                  ${lmtp}  (for mail servers)\n`}  Reference, guides     ${url}/docs, ${url}/guides
  Dashboard             ${dashboard}${setUpLink === undefined ? '' : `\n  Set up your sign-in   ${setUpLink}  (works once, for 24 hours)`}
  Live key              ${keys.live}
  Test key              ${keys.test}  (every send is a dry run)
  Sends from            example.test
  Database              ${database}
  Temporal              ${temporalUiUrl ?? 'at TEMPORAL_ADDRESS'}  (each retry or replay of a webhook is a workflow there)
  Webhooks may go to    https endpoints${webhookSubnets && `, and any endpoint in ${webhookSubnets}`}
  Logs                  ${logs.api}, ${logs.worker}

Send a first email. It goes to a simulated mailbox; nothing leaves this machine:

${firstSend(url, keys.live)}

The response is {"status":"delivered","message_id":"msg_...", ...}. ${url}/guides/quickstart shows the other mailboxes and the next steps.
Press Ctrl-C to stop.
`
}

/** A command to paste into a shell. */
function firstSend(url: string, key: string): string {
  const email = { from: 'hello@example.test', to: 'delivered@simulator.test', subject: 'Hello', text: 'It works.' }
  return `curl ${url}/api/v1/emails/send \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(email)}'`
}
