import { pbkdf2 } from 'node:crypto'

const JOBS = 16
/** A job takes some tens of milliseconds. */
const ROUNDS = 200_000

/** Keeps busy the threads in which Node reads and writes files, so that the end of a child process overtakes them. */
export function makeFilesSlow(): Disposable {
  let isBusy = true
  const work = () => {
    if (isBusy) pbkdf2('password', 'salt', ROUNDS, 32, 'sha256', work)
  }
  for (let job = 0; job < JOBS; job++) work()
  return {
    [Symbol.dispose]() {
      isBusy = false
    },
  }
}
