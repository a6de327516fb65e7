/** A message as it lies in a Maildir, apart: what the servers on its way wrote in front of it, and the message as it came. */
export function splitTrace(file: Buffer): { trace: string; message: Buffer } {
  const text = file.toString('latin1')
  const start = text.search(/^DKIM-Signature:/m)
  if (start < 0) throw new Error(`no message that begins with a signature:\n${text.slice(0, 2_000)}`)
  // A Maildir has the line ends of the machine.
  return { trace: text.slice(0, start), message: Buffer.from(text.slice(start).replaceAll('\n', '\r\n'), 'latin1') }
}

/** The names of the fields, in their order. */
export function fieldNames(fields: string): string[] {
  return [...fields.matchAll(/^([!-9;-~]+):/gm)].map(([, name]) => name!)
}
