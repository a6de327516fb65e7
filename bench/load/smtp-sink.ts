import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { installPostfix } from './debian.ts'
import { freePort, listensOn } from './port.ts'
import type { Sink } from './sink.ts'

/** Postfix's own sink: the same far end for us and for Postfix. */
export async function startSmtpSink(): Promise<Sink> {
  installPostfix()
  const port = await freePort()
  const args = ['-c', '-u', 'nobody', '-m', '1000', `127.0.0.1:${port}`, '1000']
  const child = spawn('smtp-sink', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = () => child.kill()
  process.once('exit', kill)
  let messages = 0
  // `sess=20 quit=19 mesg=300`, followed by a carriage return, whenever a message came.
  child.stdout.on('data', (chunk: Buffer) => {
    const counts = [...chunk.toString('latin1').matchAll(/mesg=(\d+)\s/g)]
    if (counts.length > 0) messages = Number(counts.at(-1)![1])
  })
  await listensOn(port)
  return {
    port,
    pids: [child.pid!],
    count: async () => messages,
    async [Symbol.asyncDispose]() {
      process.off('exit', kill)
      child.kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}
