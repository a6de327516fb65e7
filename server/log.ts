import { createHmac } from 'node:crypto'
import { type DestinationStream, type LogFn, type Logger, pino } from 'pino'

// What no line may hold, should something let it slip. All three run in linear time. Pino's own redaction knows fields by their path
// only, and costs 20 us a line for names at one of two depths; these cost 2.
const FIELDS =
  /"(authorization|cookie|password|secret|key|token|subject|html|text|to|from|reply_to|email|recipient)":"(?:[^"\\]|\\.)*"/g
const ADDRESSES = /[\w.!#$%&'*+=?^`{|}~-]{1,64}@[\w-][\w.-]{0,254}/g
const API_KEYS = /svc_(?:live|test)_\w{1,64}/g

/**
 * Structured logs: one JSON object a line. An address, a subject, a key or a secret never belongs in one; recipients appear as
 * their domain and a keyed hash. What slips in all the same is redacted. `destination` is standard output when left out.
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
    hooks: { logMethod: nameErrors, streamWrite: redact },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** Given an error and no words, pino would write its message as it is. */
function nameErrors(this: Logger, args: Parameters<LogFn>, log: LogFn): void {
  const [first, ...words] = args as unknown[]
  const failed = first instanceof Error || (first as { err?: unknown } | null)?.err instanceof Error
  log.apply(this, failed && words.length === 0 ? [first as object, 'failed'] : args)
}

function redact(line: string): string {
  const named = line.replace(FIELDS, '"$1":"[redacted]"')
  const located = named.includes('@') ? named.replace(ADDRESSES, '[address]') : named
  return located.replace(API_KEYS, '[key]')
}

/** The keyed hash that stands for an address in the log: 16 hex digits, the same for the same address in any case. */
export function createAddressHash(key: Uint8Array): (address: string) => string {
  return (address) => createHmac('sha256', key).update(address.toLowerCase()).digest('hex').slice(0, 16)
}

interface Described {
  type: string
  message?: string
  code?: unknown
  /** Of an error of Postgres. */
  routine?: unknown
  stack?: string
  cause?: Described
}

const MAX_CAUSES = 5

/** An error without what it quotes: its cause, code and frames, and its message as far as that holds no value of a request. */
export function describeError(error: unknown, depth = 0): Described {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, code, routine, stack, cause } = error as Error & { code?: unknown; routine?: unknown }
  return {
    type: name,
    message: safeMessage(error),
    code,
    routine,
    stack: stack && framesOf(stack, error.message),
    cause: cause && depth < MAX_CAUSES ? describeError(cause, depth + 1) : undefined,
  }
}

/** Drizzle quotes parameters, Postgres refused values (class 22), a JSON parser the text: everything quoted goes. */
function safeMessage({ message }: Error): string {
  return message
    .replace(/\nparams:.*/s, '')
    .replace(/".*"/s, '"..."')
    .slice(0, 500)
}

/** The frames of a stack, without the message that stands before them. */
function framesOf(stack: string, message: string): string {
  const lines = stack.slice(stack.indexOf(message) + message.length).split('\n')
  return lines.filter((line) => /^ {4}at /.test(line)).join('\n')
}
