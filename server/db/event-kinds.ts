/** The kinds of stored events. This file is apart from the schema, whose Drizzle the command line does not need. */
export const EVENT_KINDS = ['email.delivery', 'email.feedback'] as const
