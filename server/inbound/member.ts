import { getDomain, parse } from 'tldts'
import { domainOf, lowerAscii, matchingFormOf } from '../../mail/address.ts'
import { isAtLeast, type Kind } from '../../mail/smtp/attempt.ts'

// Which mailbox of a recipient failed. An address that we send to may be an alias or a list, whose members fail without
// harm to it.

/**
 * Whether the address that failed is that of the recipient, in any case and without the label of `ann+news@`: `same`.
 * The recipient's name at its own servers is `inside`, such as ann@mail.example.net or ann@mailhost for
 * ann@example.net: an alias may have such a member, too. Any other mailbox is a `member`.
 */
export function mailboxOf(failed: string, recipient: string): 'same' | 'inside' | 'member' {
  // A name without a host is one of a local user; what is no address at all, such as a program, is never the recipient.
  if (!/[^@\s]@[^@\s]/.test(failed))
    return lowerAscii(failed) === localOf(withoutLabel(recipient)) ? 'inside' : 'member'
  const address = matchingFormOf(failed) ?? lowerAscii(failed)
  const [theirs, ours] = [address, lowerAscii(recipient)].map(withoutLabel) as [string, string]
  if (theirs === ours) return 'same'
  const host = domainOf(theirs)
  const isSameName = localOf(theirs) === localOf(ours)
  return isSameName && (isBelow(host, domainOf(ours)) || !parse(host).isIcann) ? 'inside' : 'member'
}

/**
 * What a failure says against the recipient. That of a member says nothing; a report that may be about another mailbox,
 * or by another recipient of the return path, is not believed to its full strength.
 */
export function kindAgainst(
  kind: Kind | undefined,
  mailbox: ReturnType<typeof mailboxOf>,
  isShared = false,
): Kind | undefined {
  if (mailbox === 'member') return undefined
  return isShared || mailbox === 'inside' ? atMostRefused(kind) : kind
}

/** What is left of a kind where something speaks against it. */
export const atMostRefused = (kind: Kind | undefined): Kind | undefined =>
  isAtLeast(kind, 'refused') ? 'refused' : kind

const localOf = (address: string) => address.slice(0, address.lastIndexOf('@')).toLowerCase()

function withoutLabel(address: string): string {
  const local = localOf(address)
  const label = local.indexOf('+')
  return `${label > 0 ? local.slice(0, label) : local}@${domainOf(address)}`
}

/** Whether a host is in the registrable domain of another one. */
function isBelow(host: string, domain: string): boolean {
  const registrable = getDomain(domain) ?? domain
  return host === registrable || host.endsWith(`.${registrable}`)
}
