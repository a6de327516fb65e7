import { fork } from 'node:child_process'
import { once } from 'node:events'

/** A file of ours in its own process. It answers one question at a time and ends with the process that started it. */
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
  const nextMessage = () => Promise.race([once(child, 'message'), gone])
  await nextMessage()
  return {
    pid: child.pid!,
    async ask(question) {
      child.send(question as object)
      const [reply] = (await nextMessage()) as [Reply<Answer>]
      if ('fault' in reply) throw new Error(reply.fault)
      return reply.answer
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await gone.catch(() => {})
    },
  }
}

/** The worker's side: answers questions until the process that started it is gone. */
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
