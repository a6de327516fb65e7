/**
 * Splits a file of a Maildir into the trace fields, which the servers on the way added at the front, and the original
 * message.
 */
export function splitTrace(file: Buffer): { trace: string; message: Buffer } {
  const text = file.toString('latin1')
  const start = text.search(/^DKIM-Signature:/m)
  if (start < 0) throw new Error(`no message that begins with a signature:\n${text.slice(0, 2_000)}`)
  // The files of most servers have the line ends of the operating system.
  const message = text.slice(start).replaceAll(/\r?\n/g, '\r\n')
  return { trace: text.slice(0, start), message: Buffer.from(message, 'latin1') }
}

/** The names of the header fields, in order. */
export function fieldNames(fields: string): string[] {
  return [...fields.matchAll(/^([!-9;-~]+):/gm)].map(([, name]) => name!)
}
