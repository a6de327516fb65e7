import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../../dev/ports.ts'
import { installPostfix } from './debian.ts'
import type { Sink } from './sink.ts'
import { untilListening } from './until-listening.ts'

/** Starts Postfix's own sink, so that our engine and Postfix send to the same server. */
export async function startSmtpSink(): Promise<Sink> {
  installPostfix()
  const port = await freePort()
  const args = ['-c', '-u', 'nobody', '-m', '1000', `127.0.0.1:${port}`, '1000']
  const child = spawn('smtp-sink', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = () => child.kill()
  process.once('exit', kill)
  let messages = 0
  // After each message it prints `sess=20 quit=19 mesg=300` and a carriage return.
  child.stdout.on('data', (chunk: Buffer) => {
    const counts = [...chunk.toString('latin1').matchAll(/mesg=(\d+)\s/g)]
    if (counts.length > 0) messages = Number(counts.at(-1)![1])
  })
  await untilListening(port)
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
