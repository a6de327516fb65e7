import { type ScriptedResponse, startReceiver } from '../../harness/receiver.ts'
import type { PostEntry } from '../../reliability/logs.ts'
import type { Dice } from '../seed.ts'

type Answers = (post: PostEntry, attempt: number) => ScriptedResponse | Promise<ScriptedResponse>

export interface Hook {
  url: string
  /** What it answers from now on. */
  answer: Answers
  close(): Promise<void>
}

/** A webhook receiver that writes down what arrives and what it said to it. */
export async function startHook(log: PostEntry[], answer: Answers = () => ({})): Promise<Hook> {
  const receiver = await startReceiver()
  const hook: Hook = { url: receiver.url, answer, close: receiver.close }
  receiver.script = async ({ headers, body, receivedAtMs }) => {
    const post: PostEntry = { url: hook.url, headers, body: body.toString('base64'), arrivedMs: receivedAtMs }
    log.push(post)
    const said = await hook.answer(post, attemptOf(post))
    const status = said.fault === undefined || HAS_STATUS.includes(said.fault) ? (said.status ?? 200) : undefined
    const respondedMs = Date.now() + (said.delayMs ?? 0)
    if (status !== undefined) Object.assign(post, { status, respondedMs })
    return said
  }
  return hook
}

/** Faults that come after the head of an answer. */
const HAS_STATUS: unknown[] = ['drip_body', 'endless_body', 'short_body'] satisfies ScriptedResponse['fault'][]

export function attemptOf({ headers }: PostEntry): number {
  return Number(headers['service-attempt'])
}

export function recipientOf({ body }: PostEntry): string {
  return JSON.parse(Buffer.from(body, 'base64').toString()).recipient
}

/** Well in six of ten cases, and slow, refusing, beside the point, or gone in the others. */
export function mixed(dice: Dice): Answers {
  const others: ScriptedResponse[] = [
    { delayMs: 300 },
    { status: 503 },
    { status: 500, body: 'no' },
    { status: 204 },
    { status: 301, headers: { location: 'http://127.0.0.1:1/' } },
    { status: 410 },
    { fault: 'reset' },
    { fault: 'close' },
    { fault: 'garbage' },
    { fault: 'short_body' },
  ]
  return () => (dice.chance(0.6) ? {} : dice.pick(others))
}
