import { newId, showId } from '../../server/db/ids.ts'
import { type DeliveryEvent, payloadOf } from '../../server/events/payload.ts'
import { type Exchange, openExchange } from './http.ts'
import { keepPace, type Pace } from './pace.ts'
import { startWorker, type Worker, work } from './process.ts'

export interface Published {
  /** When each event was due, by the machine's clock. */
  due: [eventId: string, atMs: number][]
}

/** A load tool in a process of its own: publishes the product's own payloads to Outpost. */
export function startPublisher(port: number, key: string): Promise<Worker<Pace, Published>> {
  return startWorker(import.meta.filename, [String(port), key])
}

export const TENANT = 'bench'
export const TOPIC = 'email.delivery'

/** As it would have been recorded. */
export function anyEvent(accountId: string): DeliveryEvent {
  const createdAtMs = Date.now()
  const [id, messageId] = [newId(createdAtMs), newId(createdAtMs)]
  const recipient = 'recipient@to.test'
  return {
    id,
    messageId,
    accountId,
    status: 'rejected',
    reason: 'invalid_address',
    recipient,
    sandbox: false,
    createdAtMs,
  }
}

function serve(port: number, key: string): void {
  const idle: Exchange[] = []

  async function publish(event: DeliveryEvent): Promise<void> {
    const exchange = idle.pop() ?? openExchange(port)
    const body = `{"tenant_id":"${TENANT}","topic":"${TOPIC}","data":${payloadOf(event)}}`
    const head = [
      'POST /api/v1/publish HTTP/1.1',
      'Host: 127.0.0.1',
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    const { status, body: said, closes } = await exchange([Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)])
    if (status !== 202) throw new Error(`Outpost answered ${status}: ${said}`)
    if (!closes) idle.push(exchange)
  }

  work<Pace, Published>(async (pace) => {
    const events = Array.from({ length: pace.events }, () => anyEvent(''))
    const due = await keepPace(pace, (event) => publish(events[event]!))
    return { due: due.map((atMs, i) => [showId('evt', events[i]!.id), atMs]) }
  })
}

if (import.meta.main) serve(Number(process.argv[2]), process.argv[3]!)
