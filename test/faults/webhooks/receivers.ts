import { type ScriptedResponse, startReceiver } from '../../harness/receiver.ts'
import type { PostEntry } from '../../reliability/logs.ts'
import type { Dice } from '../seed.ts'

type Respond = (post: PostEntry, attempt: number) => ScriptedResponse | Promise<ScriptedResponse>

export interface Hook {
  url: string
  /** The response to every later POST. */
  respond: Respond
  close(): Promise<void>
}

/** Starts a webhook receiver that logs what arrives and how it responds. */
export async function startHook(log: PostEntry[], respond: Respond = () => ({})): Promise<Hook> {
  const receiver = await startReceiver()
  const hook: Hook = { url: receiver.url, respond, close: receiver.close }
  receiver.script = async ({ headers, body, receivedAtMs }) => {
    const post: PostEntry = { url: hook.url, headers, body: body.toString('base64'), arrivedMs: receivedAtMs }
    log.push(post)
    const response = await hook.respond(post, attemptOf(post))
    const hasStatus = response.fault === undefined || HAS_STATUS.includes(response.fault)
    const status = hasStatus ? (response.status ?? 200) : undefined
    const respondedMs = Date.now() + (response.delayMs ?? 0)
    if (status !== undefined) Object.assign(post, { status, respondedMs })
    return response
  }
  return hook
}

/** Faults after the head of the response. */
const HAS_STATUS: unknown[] = ['drip_body', 'endless_body', 'short_body'] satisfies ScriptedResponse['fault'][]

export function attemptOf({ headers }: PostEntry): number {
  return Number(headers['service-attempt'])
}

export function recipientOf({ body }: PostEntry): string {
  return JSON.parse(Buffer.from(body, 'base64').toString()).recipient
}

/** Responds with 200 in six of ten cases. The others are slow, refuse, have another status or are cut off. */
export function mixedResponses(dice: Dice): Respond {
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
