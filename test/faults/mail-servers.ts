import { type Exchanger, startExchanger } from '../harness/exchanger.ts'
import type { SeenMessage } from '../harness/smtp-conversation.ts'
import type { Act, Script } from '../harness/smtp-script.ts'
import type { MailLog } from '../reliability/logs.ts'

/** Starts a mail exchanger that logs the addresses of RCPT commands, and every final dot with its reply. */
export async function startMailServer(log: MailLog, script: Script = {}, host?: string): Promise<Exchanger> {
  const exchanger = await startExchanger(undefined, undefined, host)
  exchanger.script = loggedScript(exchanger, log, script)
  return exchanger
}

/** The script of a mail exchanger that logs as that of `startMailServer` does. */
export function loggedScript(exchanger: Exchanger, log: MailLog, script: Script): Script {
  return {
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
}

function actOf(step: Script['dot'], line: string, times: number): Act | undefined {
  return typeof step === 'function' ? step(line, times) : step
}

/**
 * Refuses recipients such as `full.7@one.example` as over quota and `nobody.7@one.example` as unknown. Accepts all
 * others.
 */
function refusalOf(address: string): string | undefined {
  if (address.startsWith('full.')) return '452 4.2.2 over quota'
  return address.startsWith('nobody.') ? '550 5.1.1 no such user' : undefined
}

function labelsOf({ content, to }: SeenMessage) {
  const [, message = ''] = /^Message-ID: <([^@]*)@/m.exec(content) ?? []
  const [, request = ''] = /^Subject: (.*)\r$/m.exec(content) ?? []
  return { message, request, to }
}

/** The reply code that is sent in the end, or null when it is not a reply. */
function codeOf(act: Act): number | null {
  if (typeof act === 'object' && 'after' in act) return codeOf(act.act)
  if (typeof act === 'object' && 'drip' in act) return codeOf(act.drip)
  return typeof act === 'string' && /^\d{3}/.test(act) ? Number(act.slice(0, 3)) : null
}
