import { once } from 'node:events'
import { connect, isIPv6 } from 'node:net'
import { createResolver, type Resolver } from '../../mail/dns/resolver.ts'
import { createGuard } from '../../net/guard.ts'
import type { CheckFinding, DoctorCheck } from './check.ts'
import { failure, inProduction, ok, skipped, warning, worstOf } from './check.ts'

const GREETING_MS = 5_000
/** Answers of the network on this side: nothing is known about the port. */
const NO_WAY = ['ENETUNREACH', 'EHOSTUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']

interface Exchanger {
  name: string
  address: string
}

/** Connects to a public mail exchanger, reads its greeting, and says QUIT. No mail is sent. */
export const port25: DoctorCheck = {
  name: 'port_25',
  about: 'a mail exchanger on the Internet accepts a connection and greets',
  reads: ['SMTP_PORT', 'SMTP_SOURCE_ADDRESSES', 'SMTP_ALLOW_SUBNETS', 'DNS_SERVERS', 'NODE_ENV'],
  run: inProduction(async ({ config, probe }) => {
    if (probe === undefined) return skipped('--no-probe: nothing was dialled')
    const { dnsServers, smtpPort, smtpSourceAddresses, smtpAllowSubnets } = config
    const exchanger = await exchangerOf(createResolver({ servers: dnsServers }), probe)
    if (typeof exchanger === 'string') return untried(exchanger)
    if (!createGuard({ allowSubnets: smtpAllowSubnets })(exchanger.address))
      return failure(
        `DNS leads from ${probe} to ${exchanger.address}, which is not public: no send would go there`,
        'Set DNS_SERVERS to a resolver that tells the truth.',
      )
    const sources = smtpSourceAddresses.filter((source) => isIPv6(source) === isIPv6(exchanger.address))
    const tries = sources.length > 0 ? sources : [undefined]
    return worstOf(await Promise.all(tries.map((source) => dial(exchanger, smtpPort, source))))
  }),
}

/** The preferred exchanger of the domain, by IPv4 if it can; or why there is none. */
async function exchangerOf(resolver: Resolver, domain: string): Promise<Exchanger | string> {
  const mx = await resolver.mx(domain)
  if (mx.kind === 'failure') return mx.cause
  const [preferred] = mx.kind === 'records' ? mx.records : []
  if (!preferred) return `${domain} has no MX record`
  const { name } = preferred
  for (const answer of [await resolver.a(name), await resolver.aaaa(name)]) {
    const [address] = answer.kind === 'records' ? answer.records : []
    if (address !== undefined) return { name, address }
  }
  return `${name} has no address`
}

async function dial({ name, address }: Exchanger, port: number, source: string | undefined): Promise<CheckFinding> {
  const where = `${name} (${address}) on port ${port}${source === undefined ? '' : ` from ${source}`}`
  const socket = connect({ host: address, port, localAddress: source })
  const timer = setTimeout(() => socket.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })), GREETING_MS)
  try {
    const [greeting] = (await once(socket, 'data')) as [Buffer]
    socket.end('QUIT\r\n')
    const line = greeting.toString('latin1').replace(/\r\n.*/s, '')
    if (line.startsWith('220')) return ok(`${where} greeted`)
    return warning(`${where} said "${line.slice(0, 120)}"`, 'Read what it says: it may know your address badly.')
  } catch (error) {
    const { code = 'failed' } = error as NodeJS.ErrnoException
    if (NO_WAY.includes(code)) return untried(`there is no way to ${where} (${code})`)
    const what =
      code === 'ETIMEDOUT' ? `does not answer within ${GREETING_MS / 1_000} s` : `cannot be reached (${code})`
    return failure(
      `${where} ${what}, although DNS answers: port ${port} is probably closed, and no mail leaves`,
      `Ask your provider to open outgoing port ${port}, and check this machine's firewall.`,
    )
  } finally {
    clearTimeout(timer)
    socket.on('error', () => {}).destroySoon()
  }
}

const untried = (seen: string): CheckFinding =>
  warning(`could not be tried: ${seen}`, 'Check that this machine reaches the Internet, or name a domain with --probe.')
