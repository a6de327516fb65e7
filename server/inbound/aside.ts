import { inThread } from '../async/threads.ts'

/** Larger mails are read in a thread: a line costs the parser as much as some hundred bytes. */
const SMALL_BYTES = 16 * 1024
const FEW_LINES = 400

/**
 * A reader of mails that does not keep the event loop for a large one. `module` is the URL of the module that exports
 * `read` under its own name.
 */
export function aside<More extends unknown[], Result>(
  module: string,
  read: (mail: Uint8Array, ...more: More) => Promise<Result>,
): (mail: Buffer, ...more: More) => Promise<Result> {
  const readInThread = inThread(module, read)
  return (mail, ...more) => (isSmall(mail) ? read(mail, ...more) : readInThread('', mail, ...more))
}

function isSmall(mail: Buffer): boolean {
  return mail.length <= SMALL_BYTES && mail.toString('latin1').split('\n', FEW_LINES).length < FEW_LINES
}
