import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, test } from 'vitest'
import { DeliveryStatus, Reason, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import { parsePublicId } from '../../server/db/ids.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { storedOutcomes } from '../../server/sending/stored-response.ts'
import { AUTHORITY, CERTIFICATE } from '../harness/certificates.ts'
import { a, mx } from '../harness/dns.ts'
import { type Exchanger, startExchanger } from '../harness/exchanger.ts'
import { untilEnd } from '../harness/until-end.ts'
import { message, startSendingWorld, type World } from './world.ts'

setDefaultCACertificates([...getCACertificates('default'), AUTHORITY])
const secure = untilEnd(await startExchanger({ ehlo: '250-mx.test\r\n250 STARTTLS' }, CERTIFICATE))
const world = await startSendingWorld({
  'MX secure.org': [mx('secure.org', 10, 'mx1.example.test')],
  'A mx1.example.test': [a('mx1.example.test', '127.0.0.1')],
  'AAAA mx1.example.test': 'nodata',
})
const { db, sealer, clock, account } = world
const domain = { accountId: account.id, status: 'verified', warmsUp: false } as const
await createDomain({ db, sealer, clock }, { ...domain, name: 'strict.test', requiresTls: true })

type EngineOptions = Parameters<World['engineWith']>[0]

async function send(from: string, to: string, engineOptions: EngineOptions = {}, sandbox = false) {
  const engine = world.engineWith(engineOptions)
  try {
    return await world.sendAlone({ engine, hasStaticRoute: () => true })(
      message({ from, to: [to] }),
      world.options({ sandbox }),
    )
  } finally {
    engine.close()
  }
}

const DEMAND = 'the sending domain demands TLS with a valid certificate: '

test('mail of a domain that demands TLS leaves over TLS with a certificate that names the exchanger', async () => {
  const sent = await send('a@strict.test', 'ann@secure.org', { smtpPort: secure.port })
  expect(sent).toMatchObject({
    status: DeliveryStatus.DELIVERED,
    smtp: { mx: 'mx1.example.test', tls: { version: 'TLSv1.3', verified: true } },
  })
  expect(sent.smtp!.detail).toBeUndefined()
})

test('mail of a domain that demands TLS is not sent in clear text, and the evidence says why', async () => {
  world.exchanger.messages.length = 0
  const sent = await send('a@strict.test', 'ann@example.net')
  const outcome = {
    status: DeliveryStatus.BOUNCED,
    reason: Reason.POLICY_BLOCK,
    smtp: {
      mx: 'mx.example.net',
      ip: '127.0.0.1',
      phase: SmtpPhase.STARTTLS,
      detail: `${DEMAND}STARTTLS is not offered`,
    },
  }
  expect(sent).toMatchObject(outcome)
  expect([sent.smtp!.tls, sent.smtp!.code, sent.smtp!.reply]).toEqual([undefined, undefined, undefined])
  expect(await storedOutcomes(world.db, parsePublicId('msg', sent.messageId)!)).toMatchObject([outcome])
  expect(world.exchanger.messages).toEqual([])
  expect(await send('a@example.test', 'ann@example.net')).toMatchObject({ status: DeliveryStatus.DELIVERED })
})

test('a static route must also have TLS with a certificate for the name of its host', async () => {
  const route = (host: string, { port }: Exchanger) => ({ routes: new Map([['routed.test', { host, port }]]) })
  const sent = (host: string, to: Exchanger) => send('a@strict.test', 'ann@routed.test', route(host, to))
  expect(await sent('mx1.example.test', secure)).toMatchObject({ status: DeliveryStatus.DELIVERED })
  expect(await sent('127.0.0.1', secure)).toMatchObject({
    reason: Reason.POLICY_BLOCK,
    smtp: { tls: { verified: false }, detail: `${DEMAND}ERR_TLS_CERT_ALTNAME_INVALID` },
  })
  expect(await sent('mx1.example.test', world.exchanger)).toMatchObject({ reason: Reason.POLICY_BLOCK })
})

test('the simulator needs no TLS', async () => {
  const sent = await send('a@strict.test', 'delivered@simulator.test')
  expect([sent.status, sent.smtp!.tls]).toEqual([DeliveryStatus.DELIVERED, undefined])
})

test.each([false, true])(
  'a policy that permits none of the exchangers: nothing is dialled (dry run: %s)',
  async (sandbox) => {
    const asked: string[] = []
    const policyOf = async (domain: string) => {
      asked.push(domain)
      return { mode: 'enforce' as const, mx: ['mx.other.test'], maxAgeS: 60 }
    }
    world.exchanger.sessions.length = 0
    const sent = await send('a@example.test', 'ann@example.net', { policyOf }, sandbox)
    const detail = 'the MTA-STS policy of example.net permits none of its mail exchangers (mx.example.net)'
    expect(sent).toMatchObject({
      status: DeliveryStatus.BOUNCED,
      reason: Reason.POLICY_BLOCK,
      smtp: { phase: SmtpPhase.DNS, detail },
    })
    expect(asked).toEqual(['example.net'])
    expect(world.exchanger.sessions).toEqual([])
  },
)
