/** Something the person at the terminal can put right: its message is all they need, and is printed without a stack. */
export class Problem extends Error {}
