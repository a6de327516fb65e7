import { type Round, roundOf } from '../pairs.ts'
import { percentile } from '../report.ts'
import { measure } from './cpu.ts'
import type { HttpResponses, HttpRun } from './http.ts'
import type { Worker } from './process.ts'
import type { Product } from './product.ts'
import { expectDelivered, sendRun } from './sends.ts'

export interface SendRound extends Round {
  p50Ms: number
  p99Ms: number
  /** Processor time per message, in microseconds. */
  apiCpuMicros: number
  postgresCpuMicros: number
}

export interface SendLoad {
  inFlight: number
  requests: number
  to?: string
  fields?: object
}

/** Returns a function that plays a round of sends. */
export function sendsOf(product: Product, http: Worker<HttpRun, HttpResponses>) {
  return async ({ inFlight, requests, to, fields }: SendLoad): Promise<SendRound> => {
    const run = sendRun(product, { connections: inFlight, requests, to, fields })
    const measured = await measure([[product.apiPid], [product.postgresPid]], () => http.ask(run))
    const { latenciesMs } = expectDelivered(measured.result)
    const [api, postgres] = measured.cpu.map((seconds) => (seconds * 1e6) / requests)
    return {
      ...roundOf(measured, requests),
      p50Ms: percentile(latenciesMs, 0.5),
      p99Ms: percentile(latenciesMs, 0.99),
      apiCpuMicros: api!,
      postgresCpuMicros: postgres!,
    }
  }
}
