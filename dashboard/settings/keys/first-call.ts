interface FirstCall {
  key: string
  scopes: string[]
  /** Where the API is. */
  origin: string
  /** A verified domain of the account. */
  domain: string | undefined
}

/** A command that uses a key: a send to a simulated mailbox, or what every key may call. */
export function firstCall({ key, scopes, origin, domain = 'example.com' }: FirstCall): string {
  const authorization = `-H 'Authorization: Bearer ${key}'`
  if (!scopes.includes('emails.send')) return `curl ${origin}/api/v1/limits \\\n  ${authorization}`
  const email = { from: `hello@${domain}`, to: 'delivered@simulator.test', subject: 'Hello', text: 'It works.' }
  return [
    `curl ${origin}/api/v1/emails/send`,
    authorization,
    `-H 'Content-Type: application/json'`,
    `-d '${JSON.stringify(email)}'`,
  ].join(' \\\n  ')
}
