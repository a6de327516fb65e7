import type { NetworkInterfaceInfo } from 'node:os'
import { createGuard } from '../../net/guard.ts'

/** The addresses that other mail servers see mail come from, and how the service knows them. */
export interface Sources {
  /** Empty when they are unknown. */
  addresses: readonly string[]
  /** For the operator: how they are known, or why they are not. */
  detail: string
}

type Interfaces = Record<string, NetworkInterfaceInfo[] | undefined>

const LOOPBACK = '127.0.0.1'
const NAME_THEM =
  'Set SMTP_SOURCE_ADDRESSES to the address mail leaves from, or SMTP_PUBLIC_ADDRESSES to the one others see'

const isPublic = createGuard({ allowSubnets: [] })

/**
 * The addresses for SPF records when none are configured: the machine's own public ones, when they leave no choice, at
 * most one of each family. A machine with IPv4 addresses, none of them public, is behind a translation (NAT), and
 * cannot know the address that others see. Outside production such a machine sends to itself, from loopback, so that a
 * domain can be verified in a local DNS.
 */
export function detectSources(interfaces: Interfaces, production: boolean): Sources {
  const own = Object.values(interfaces).flatMap((addresses = []) => addresses.filter(({ internal }) => !internal))
  const addressesOf = (family: string) => own.filter((each) => each.family === family).map(({ address }) => address)
  const [v4, v6] = [addressesOf('IPv4').filter(isPublic), addressesOf('IPv6').filter(isPublic)]
  const isTranslated = v4.length === 0 && addressesOf('IPv4').length > 0
  const addresses = isTranslated ? [] : [...v4, ...v6]
  if (v4.length <= 1 && v6.length <= 1 && addresses.length > 0) {
    return { addresses, detail: `${addresses.join(' and ')}, the only public address this machine has of each family` }
  }
  const fault =
    addresses.length > 0
      ? `this machine has several public addresses: ${addresses.join(', ')}`
      : 'this machine has no public address of its own'
  if (production) return { addresses: [], detail: `not known: ${fault}. ${NAME_THEM}` }
  return { addresses: [LOOPBACK], detail: `${LOOPBACK}, for development: ${fault}. ${NAME_THEM}` }
}
