import type { TlsOptions } from 'node:tls'
import { parentPort } from 'node:worker_threads'
import { type Exchanger, startExchanger } from './exchanger.ts'
import type { Act, Script, Verb } from './smtp-script.ts'

// Mail exchangers in a thread, which go on while the event loop of the test is blocked.

/** What the test asks of the thread. Each is answered in turn. */
export type Ask = { start: { acts: { [verb in Verb]?: Act }; tls?: TlsOptions } } | { seen: number }

/** The answer, or what the exchanger with this port has just been told. */
export type Told = { answer: unknown } | { port: number; verb: Verb }

const exchangers = new Map<number, Exchanger>()
if (!parentPort) throw new Error('a test starts this thread')
const parent = parentPort
const tell = (told: Told) => parent.postMessage(told)

parent.on('message', async (ask: Ask) => {
  tell({ answer: 'seen' in ask ? seenBy(exchangers.get(ask.seen)) : await start(ask.start) })
})

async function start({ acts, tls }: Extract<Ask, { start: unknown }>['start']): Promise<number> {
  const script: Script = { handshake: () => void tell({ port: exchanger.port, verb: 'handshake' }) }
  for (const [verb, act] of Object.entries(acts) as [Verb, Act][])
    script[verb] = () => {
      tell({ port: exchanger.port, verb })
      return act
    }
  const exchanger = await startExchanger(script, tls)
  exchangers.set(exchanger.port, exchanger)
  return exchanger.port
}

const seenBy = (exchanger?: Exchanger) => exchanger && { messages: exchanger.messages, sessions: exchanger.sessions }
