import { fork } from 'node:child_process'
import { once } from 'node:events'

/** A file of ours in a process of its own, which is asked one thing at a time. Ends with the process that started it. */
export interface Worker<Question, Answer> extends AsyncDisposable {
  pid: number
  ask(question: Question): Promise<Answer>
}

type Reply<Answer> = { answer: Answer } | { fault: string }

export async function startWorker<Question, Answer>(
  file: string,
  args: readonly string[] = [],
): Promise<Worker<Question, Answer>> {
  const child = fork(file, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const gone = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${file} ended (${code ?? signal})`)
  })
  gone.catch(() => {})
  const heard = () => Promise.race([once(child, 'message'), gone])
  await heard()
  return {
    pid: child.pid!,
    async ask(question) {
      child.send(question as object)
      const [reply] = (await heard()) as [Reply<Answer>]
      if ('fault' in reply) throw new Error(reply.fault)
      return reply.answer
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await gone.catch(() => {})
    },
  }
}

/** The other side: answers until the process that started it is gone. */
export function work<Question, Answer>(answer: (question: Question) => Promise<Answer>): void {
  process.on('disconnect', () => process.exit())
  process.on('message', async (question: Question) => {
    const reply = await answer(question).then(
      (answer) => ({ answer }),
      (error: Error) => ({ fault: error.stack ?? error.message }),
    )
    process.send!(reply)
  })
  process.send!('ready')
}
