import { Socket } from 'node:net'
import { constants } from 'node:os'
import { TLSSocket } from 'node:tls'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import type { Site } from '../../../mail/smtp/attempt.ts'
import { CERTIFICATE } from '../../harness/certificates.ts'
import { eventually } from '../../harness/eventually.ts'
import { engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

// Errors that no other machine can cause are a fault of ours at every moment before the dot.

afterEach(() => void vi.restoreAllMocks())

/** What an RST, silence, and the messages of ICMP and ICMPv6 lead to on Linux; and codes of OpenSSL. */
const THEIRS = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENETUNREACH', 'EHOSTUNREACH', 'EHOSTDOWN']
const RARE = ['ENOPROTOOPT', 'EMSGSIZE', 'EOPNOTSUPP', 'EACCES', 'EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER']
const theirs = [...THEIRS, ...RARE]
const code = fc.oneof(fc.constantFrom(...theirs), fc.constantFrom(...Object.keys(constants.errno)))
const isOurs = (errno: string) => !theirs.includes(errno)
const errorOf = (errno: string) => Object.assign(new Error(errno), { code: errno })

test('an error of ours in a conversation is our fault, and after the dot the send is in doubt', async () => {
  const phase = fc.constantFrom('ehlo', 'mail', 'rcpt', 'data', 'dot')
  await fc.assert(
    fc.asyncProperty(phase, code, async (phase, errno) => {
      const exchanger = await exchangerWith({ [phase]: { after: 5_000, act: '250 ok' } })
      const dialled: Socket[] = []
      const connect = Socket.prototype.connect as (...args: unknown[]) => Socket
      vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args: unknown[]) {
        dialled.push(this)
        return connect.apply(this, args)
      })
      const sending = send(engineWith(), siteOf(exchanger))
      const word = phase === 'dot' ? '.' : phase.toUpperCase()
      await eventually(() => expect(exchanger.sessions[0]?.commands.at(-1)).toMatch(new RegExp(`^\\${word}`)))
      vi.restoreAllMocks()
      dialled[0]!.destroy(errorOf(errno))
      const outcome = outcomeOf(await sending)
      if (phase === 'dot') expect(outcome).toBe('in_doubt')
      else expect(outcome).toBe(isOurs(errno) ? 'our_fault' : 'connection_timeout')
    }),
    { numRuns: 40 },
  )
})

/** `connect` of node:tls calls this when the handshake begins. */
const HANDSHAKE = TLSSocket.prototype as TLSSocket & { setServername(this: TLSSocket, name: string): void }

test('an error of ours in a handshake is no lack of TLS', async () => {
  const exchanger = await exchangerWith({ ehlo: '250-mx.test\r\n250 STARTTLS' }, CERTIFICATE)
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(undefined, 'the sending domain' as const, 'MTA-STS' as const),
      code,
      async (by, errno) => {
        const engine = engineWith()
        const site: Site = { ...siteOf(exchanger), tlsDemandedBy: by }
        const { setServername } = HANDSHAKE
        vi.spyOn(HANDSHAKE, 'setServername').mockImplementationOnce(function (this: TLSSocket, name) {
          setServername.call(this, name)
          setImmediate(() => this.destroy(errorOf(errno)))
        })
        const outcome = outcomeOf(await send(engine, site))
        const theirs = by ? 'policy_block' : 'delivered'
        expect(outcome).toBe(isOurs(errno) ? 'our_fault' : theirs)
        // The next message is encrypted where nothing was proved.
        if (!by) expect((await send(engine, site)).tls !== null).toBe(isOurs(errno))
      },
    ),
    { numRuns: 40 },
  )
})
