/** A failure that the user can fix. Its message says how, and is printed without a stack trace. */
export class Problem extends Error {}
