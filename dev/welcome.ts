export interface Facts {
  url: string
  keys: { live: string; test: string }
  /** In words. */
  database: string
  /** A file. */
  log: string
}

/** What a newcomer reads when everything runs. */
export function welcome({ url, keys, database, log }: Facts): string {
  return `Verdict runs.

  REST, Connect, gRPC   ${url}
  Reference             ${url}/docs
  Live key              ${keys.live}
  Test key              ${keys.test}  (every send is a dry run)
  Sends from            example.test
  Database              ${database}
  Log                   ${log}

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
