import { readFileSync } from 'node:fs'
import { startHttpLoad } from './load/http.ts'
import { startProduct } from './load/product.ts'
import { sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { atLeast, atMost, type Report } from './report.ts'

const SENDS = 200
/** 10 MiB less one byte: a whole number of base64 groups. */
const ATTACHMENT_BYTES = 10 * 1024 * 1024 - 1
const EXPECTED = ['200 delivered', '500 transient_failure']

/** 200 sends of 10 MB at once: the peak memory of the API process, and the responses to the callers. */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const path = '/api/v1/emails/send'
  const body = JSON.stringify({
    from: 'Bench <bench@example.test>',
    to: 'b@to.test',
    subject: 'Your report',
    text: 'See the attachment.',
    attachments: [{ filename: 'report.bin', content: '*' }],
  })
  await http.ask(sendRun(product, { connections: 8, requests: 200 }))
  const before = { accepted: await sink.count(), residentMb: residentMb(product.apiPid) }

  const fill = (ATTACHMENT_BYTES / 3) * 4
  const { port, key } = product
  const { seconds, counts } = await http.ask({ port, key, path, body, fill, connections: SENDS, requests: SENDS })
  console.log(`${SENDS} sends in ${seconds.toFixed(1)} s: ${JSON.stringify(counts)}`)

  const peakMb = residentMb(product.apiPid)
  const delivered = counts['200 delivered'] ?? 0
  const others = Object.entries(counts).filter(([outcome]) => !EXPECTED.includes(outcome))
  const accepted = (await sink.count()) - before.accepted
  return {
    figures: {
      'resident MB before': before.residentMb,
      'resident MB at the peak': peakMb,
      seconds,
      'delivered 10 MB messages': delivered,
      'refused with transient_failure': counts['500 transient_failure'] ?? 0,
    },
    bars: [
      atMost('resident MB at the peak', peakMb, 1_000),
      atMost(
        'other responses',
        others.reduce((sum, [, count]) => sum + count, 0),
        0,
      ),
      atLeast('delivered', delivered, 1),
      atMost('messages that arrived and were not reported as delivered', accepted - delivered, 0),
    ],
  }
}

/** The most memory that the process has ever had. The kernel keeps it, so no peak is missed between two readings. */
function residentMb(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
  return (Number(kilobytes) * 1024) / 1e6
}
