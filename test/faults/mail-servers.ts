import { type Act, type Exchanger, type Script, type SeenMessage, startExchanger } from '../harness/exchanger.ts'
import type { MailLog } from '../reliability/logs.ts'

/** A mail exchanger that writes down whom it was asked about, and every final dot with what it said to it. */
export async function startMailServer(log: MailLog, script: Script = {}, host?: string): Promise<Exchanger> {
  const watched: Script = {
    ...script,
    rcpt(line, times) {
      const [, address = ''] = /<(.*)>/.exec(line) ?? []
      log.rcptAddresses.push(address)
      return actOf(script.rcpt, line, times) ?? refusalOf(address)
    },
    dot(line, times) {
      const act = actOf(script.dot, line, times) ?? '250 2.0.0 queued'
      log.dots.push({ ...labelsOf(exchanger.messages.at(-1)!), reply: codeOf(act), atMs: performance.now() })
      return act
    },
  }
  const exchanger = await startExchanger(watched, undefined, host)
  return exchanger
}

function actOf(scripted: Script['dot'], line: string, times: number): Act | undefined {
  return typeof scripted === 'function' ? scripted(line, times) : scripted
}

/** `full.7@one.example` is over quota and `nobody.7@one.example` unknown; all others are welcome. */
function refusalOf(address: string): string | undefined {
  if (address.startsWith('full.')) return '452 4.2.2 over quota'
  return address.startsWith('nobody.') ? '550 5.1.1 no such user' : undefined
}

function labelsOf({ content, to }: SeenMessage) {
  const [, message = ''] = /^Message-ID: <([^@]*)@/m.exec(content) ?? []
  const [, request = ''] = /^Subject: (.*)\r$/m.exec(content) ?? []
  return { message, request, to }
}

/** What is said in the end; null for what is no reply. */
function codeOf(act: Act): number | null {
  if (typeof act === 'object' && 'after' in act) return codeOf(act.act)
  if (typeof act === 'object' && 'drip' in act) return codeOf(act.drip)
  return typeof act === 'string' && /^\d{3}/.test(act) ? Number(act.slice(0, 3)) : null
}
