import { userInfo } from 'node:os'
import type { Author } from '../server/access/audit/record-change.ts'

/** The operator as the author of a change: the user who runs the command. */
export function operator(accountId: string): Author {
  return { accountId, actor: { kind: 'operator', name: userName() } }
}

/** A container may run under a user id that has no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.()}`
  }
}
