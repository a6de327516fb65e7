export interface Facts {
  url: string
  keys: { live: string; test: string }
  /** In words. */
  database: string
  temporalUiUrl: string | undefined
  /** Of WEBHOOK_ALLOW_SUBNETS. */
  webhookSubnets: string
  /** Files. */
  logs: { api: string; worker: string }
}

/** What a newcomer reads when everything runs. */
export function welcome({ url, keys, database, temporalUiUrl, webhookSubnets, logs }: Facts): string {
  return `Verdict runs.

  REST, Connect, gRPC   ${url}
  Reference             ${url}/docs
  Live key              ${keys.live}
  Test key              ${keys.test}  (every send is a dry run)
  Sends from            example.test
  Database              ${database}
  Temporal              ${temporalUiUrl ?? 'that of TEMPORAL_ADDRESS'}  (a webhook that is retried or replayed is a workflow there)
  Webhooks may go to    https${webhookSubnets && `, and whatever listens in ${webhookSubnets}`}
  Logs                  ${logs.api}, ${logs.worker}

Send a first email. It goes to a simulated mailbox; nothing leaves this machine:

${firstSend(url, keys.live)}

The answer is {"status":"delivered","message_id":"msg_...", ...}. README.md shows the other mailboxes and the next steps.
Ctrl-C stops.
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
