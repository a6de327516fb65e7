import { createHmac } from 'node:crypto'
import { type DestinationStream, type LogFn, type Logger, type LoggerOptions, pino } from 'pino'
import { lowerAscii } from '../../mail/address.ts'

// Patterns of what no line may hold, in case something lets it slip. All three run in linear time. Pino's own redaction
// finds fields only by their path, and costs 20 us per line for names at one of two depths. These cost 2.
const FIELDS =
  /"(authorization|cookie|password|secret|key|token|subject|html|text|to|from|reply_to|email|recipient)":"(?:[^"\\]|\\.)*"/g
const ADDRESSES = /[\w.!#$%&'*+=?^`{|}~\x80-\uffff-]{1,64}@[\w\x80-\uffff-][\w.\x80-\uffff-]{0,254}/g
const API_KEYS = /svc_(?:live|test)_\w{1,64}/g

const MOST_WAITING_BYTES = 16 * 2 ** 20

/**
 * Creates a structured log with one JSON object per line. A line never holds an address, a subject, a key or a secret.
 * Recipients appear as their domain and a keyed hash. What slips in nevertheless is redacted. `destination` is standard
 * output by default.
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
  return destination ? pino(options, destination) : toStandardOutput(options)
}

/** Writes beside the event loop. What a slow reader leaves waiting is bounded: then lines are lost, and counted. */
function toStandardOutput(options: LoggerOptions): Logger {
  // A minimum of one octet changes no write, and lets `flush` wait for the last one.
  const output = pino.destination({ minLength: 1, maxLength: MOST_WAITING_BYTES })
  const log = pino(options, output)
  let lines = 0
  output.on('drop', () => lines++)
  output.on('drain', () => {
    if (lines === 0) return
    log.warn({ lines }, 'lines of this log were lost, because what reads it was too slow')
    lines = 0
  })
  return log
}

/** Gives an error without a text the text `failed`. Otherwise pino would log the error's message unredacted. */
function nameErrors(this: Logger, args: Parameters<LogFn>, log: LogFn): void {
  const [first, ...texts] = args as unknown[]
  const hasError = first instanceof Error || (first as { err?: unknown } | null)?.err instanceof Error
  log.apply(this, hasError && texts.length === 0 ? [first as object, 'failed'] : args)
}

function redact(line: string): string {
  const withoutFields = line.replace(FIELDS, '"$1":"[redacted]"')
  const withoutAddresses = withoutFields.includes('@') ? withoutFields.replace(ADDRESSES, '[address]') : withoutFields
  return withoutAddresses.replace(API_KEYS, '[key]')
}

/** The keyed hash that stands for an address in the log: 16 hex digits, the same for upper and lower case. */
export function createAddressHash(key: Uint8Array): (address: string) => string {
  return (address) => createHmac('sha256', key).update(lowerAscii(address)).digest('hex').slice(0, 16)
}

interface ErrorFields {
  type: string
  message?: string
  code?: unknown
  /** Set on errors of Postgres. */
  routine?: unknown
  stack?: string
  cause?: ErrorFields
}

const MAX_CAUSES = 5

/** Describes an error without its quotations: cause, code and frames, and the message without values of a request. */
export function describeError(error: unknown, depth = 0): ErrorFields {
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

/** Removes quotations: Drizzle quotes parameters, Postgres refused values (class 22), and a JSON parser the text. */
function safeMessage({ message }: Error): string {
  return message
    .replace(/\nparams:.*/s, '')
    .replace(/".*"/s, '"..."')
    .slice(0, 500)
}

/** The frames of a stack, without the message before them. */
function framesOf(stack: string, message: string): string {
  const lines = stack.slice(stack.indexOf(message) + message.length).split('\n')
  return lines.filter((line) => /^ {4}at /.test(line)).join('\n')
}
