/** The kinds of stored events. This file is apart from the schema, whose Drizzle the command line does not need. */
export const EVENT_KINDS = ['email.delivery', 'email.feedback'] as const

export type EventKind = (typeof EVENT_KINDS)[number]

/** Whether the payload of a kind needs rows of the event's message, which expire before the event. */
export const NEEDS_MESSAGE: Record<EventKind, boolean> = { 'email.delivery': true, 'email.feedback': false }
