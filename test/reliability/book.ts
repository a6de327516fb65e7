import type { ClientEntry, Dot, EventRow, Logs, MessageRow, RecipientRow, Snapshot } from './logs.ts'

export type Book = ReturnType<typeof openBook>

/** The logs with indexes for the checks. The last snapshot counts as stored. */
export function openBook(logs: Logs) {
  const lastSnapshot: Snapshot = logs.database.at(-1) ?? { atMs: 0, messages: [], recipients: [], events: [], open: [] }
  const entriesOf = Map.groupBy(logs.requests, (entry) => entry.request)
  const messages = new Map(lastSnapshot.messages.map((row) => [row.id, row]))
  const messagesOf = Map.groupBy(lastSnapshot.messages, (row) => row.request)
  const recipientsOf = Map.groupBy(lastSnapshot.recipients, (row) => row.message)
  const eventsOf = Map.groupBy(lastSnapshot.events, (row) => row.message)
  const dotsOf = Map.groupBy(logs.mail.dots, (dot) => dot.message)
  const dotsFor = Map.groupBy(logs.mail.dots, (dot) => dot.request)
  return {
    logs,
    lastSnapshot,
    /** The tries of a request. There is one, unless the request has a key. */
    entriesOf: (request: string): ClientEntry[] => entriesOf.get(request) ?? [],
    message: (id: string): MessageRow | undefined => messages.get(id),
    messagesOf: (request: string): MessageRow[] => messagesOf.get(request) ?? [],
    recipientsOf: (message: string): RecipientRow[] => recipientsOf.get(message) ?? [],
    eventsOf: (message: string): EventRow[] => eventsOf.get(message) ?? [],
    /** The final dots of a message. */
    dotsOf: (message: string): Dot[] => dotsOf.get(message) ?? [],
    /** The final dots of all messages of a request. */
    dotsFor: (request: string): Dot[] => dotsFor.get(request) ?? [],
  }
}

/** Whether the mail server accepted the message. */
export const isAccepted = ({ reply }: Dot) => reply !== null && reply >= 200 && reply < 300

/** Whether the mail server refused the message, so that it certainly did not take it. */
export const isRefused = ({ reply }: Dot) => reply !== null && reply >= 400
