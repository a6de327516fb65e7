// A separate process: it uses up all of its file descriptors, goes on sending, and prints the outcomes.
import { closeSync, openSync } from 'node:fs'
import { createResolver } from '../../../mail/dns/resolver.ts'
import type { Site } from '../../../mail/smtp/attempt.ts'
import { createEngine } from '../../../mail/smtp/engine.ts'
import { startExchanger } from '../../harness/exchanger.ts'
import { takes } from '../../harness/waits.ts'

const exchanger = await startExchanger({ content: { after: 50, act: 'close' } })
const resolver = createResolver({ servers: ['127.0.0.1:9'], queryTimeoutMs: 50 })
const engine = createEngine({ resolver, mayDial: () => true, smtpPort: 25, routes: new Map(), heloName: 'sender.test' })
const hosts = ['mx1', 'mx2'].map((name) => ({ name, preference: 0, addresses: ['127.0.0.1'], port: exchanger.port }))
const open: number[] = []

function exhaust(): void {
  try {
    for (;;) open.push(openSync('/dev/null', 'r'))
  } catch {
    // None is left.
  }
}

async function deliver(site: Site, whenAsked: () => void) {
  const [attempt] = await engine.deliver({
    senderFor: () => '',
    recipients: [{ address: 'user@example.test', site }],
    content: [Buffer.from('x\r\n')],
    startedAtMs: performance.now(),
    budgetMs: 20_000,
    beforeDot: async () => {
      // Until the close has arrived.
      await takes(1_000)
      whenAsked()
      return true
    },
  })
  return [attempt!.outcome, attempt!.detail]
}

const asked = await deliver({ key: 'asked', hosts }, exhaust)
exhaust()
const [unasked] = await deliver({ key: 'unasked', hosts }, () => {})
const answer = await resolver.mx('example.test')
for (const fd of open) closeSync(fd)
console.log(JSON.stringify({ asked, unasked, dns: answer.kind }))
engine.close()
await exchanger.close()
