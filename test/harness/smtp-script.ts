/** What the server does in reply to a verb. */
export type Act =
  /** Sends this reply and a CRLF. */
  | string
  /** Sends exactly these bytes, then performs `act`. */
  | { raw: string | Buffer; act?: Act }
  /** Sends this text, one byte every `everyMs`. */
  | { drip: string; everyMs: number }
  /** After this number of milliseconds, or once the promise resolves. */
  | { after: number | Promise<unknown>; act: Act }
  | 'stall'
  /** Sends nothing and stops reading. */
  | 'deaf'
  | 'close'
  | 'reset'

export type Verb =
  | 'greeting'
  | 'ehlo'
  | 'helo'
  | 'starttls'
  | 'handshake'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'content'
  | 'dot'
  | 'rset'
  | 'quit'

/**
 * One act for each verb, or a function of the command line and of how often this server has received the verb before.
 */
export type Script = { [verb in Verb]?: Act | ((line: string, times: number) => Act | undefined) }

/** The reply to a verb without a script. */
export const DEFAULT: Record<Exclude<Verb, 'handshake' | 'content'>, string> = {
  greeting: '220 mx.test ESMTP',
  ehlo: '250-mx.test\r\n250-PIPELINING\r\n250 8BITMIME',
  helo: '250 mx.test',
  starttls: '220 2.0.0 go ahead',
  mail: '250 2.1.0 ok',
  rcpt: '250 2.1.5 ok',
  data: '354 go ahead',
  dot: '250 2.0.0 queued',
  rset: '250 2.0.0 ok',
  quit: '221 2.0.0 bye',
}
