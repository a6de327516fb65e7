import { createServiceImplSpec } from '@connectrpc/connect'
import { destination } from 'pino'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import { createOpenCalls } from '../../server/access/open-calls.ts'
import { createApp } from '../../server/http/app.ts'
import { listen } from '../../server/http/listener/listen.ts'
import { createLogger } from '../../server/process/log.ts'
import { startWorker, type Worker, work } from './process.ts'

/** Starts the gateway in its own process, without key look-up and send. Every question returns its port. */
export function startGateway(): Promise<Worker<null, number>> {
  return startWorker(import.meta.filename)
}

const caller = { accountId: 'acc_1', keyId: 'key_1', test: false }

async function serve(): Promise<number> {
  const app = await createApp({
    services: [createServiceImplSpec<typeof EmailService>(EmailService, { send: async () => delivered() })],
    gate: async () => caller,
    openCalls: createOpenCalls(),
    log: createLogger('info', destination('/dev/null')),
    checks: async () => ({}),
    keySet: { read: async () => ({ keys: [] }), maxAgeSeconds: 300 },
    about: { version: 'bench', region: 'eu' },
  })
  const { port } = await listen(app, { host: '127.0.0.1', port: 0 })
  return port
}

const delivered = () => ({
  status: DeliveryStatus.DELIVERED,
  messageId: 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5',
  smtp: {
    mx: 'mx.example.test',
    ip: '192.0.2.1',
    code: 250,
    enhanced: '2.0.0',
    reply: 'Ok: queued as 4bXyZ',
    phase: SmtpPhase.DOT,
    tls: { version: 'TLSv1.3', verified: true },
    durationMs: 42,
  },
})

if (import.meta.main) {
  const port = serve()
  work(() => port)
}
