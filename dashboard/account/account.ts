import { createContext, useContext } from 'react'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import type { GetPersonResponse, Membership } from '../../gen/verdict/admin/v1/person_pb.ts'
import { present } from '../present.ts'

export interface AccountView {
  person: GetPersonResponse
  /** The account that the address of the page names, and what the person may do in it. */
  membership: Membership
}

export const AccountContext = createContext<AccountView | undefined>(undefined)

/** The account of the page and the person who looks at it. */
export function useAccount(): AccountView {
  return present(useContext(AccountContext))
}

/** Whether the person has at least a role in the account. The server decides; the pages hide what it would refuse. */
export function useMay(role: Role): boolean {
  return useAccount().membership.role >= role
}

export const ROLE_WORDS: Record<Role, string> = {
  [Role.UNSPECIFIED]: '',
  [Role.READER]: 'Reader',
  [Role.MEMBER]: 'Member',
  [Role.OWNER]: 'Owner',
}

/** What each role may do, in a sentence. */
export const ROLE_SENTENCES: [role: Role, sentence: string][] = [
  [Role.READER, 'Sees everything but secrets and the audit log.'],
  [Role.MEMBER, 'Also sends, replays, and changes keys, domains, the webhook and suppressions.'],
  [Role.OWNER, 'Also invites and removes people.'],
]

const LAST_ACCOUNT = 'verdict-account'

export const rememberAccount = (accountId: string) => localStorage.setItem(LAST_ACCOUNT, accountId)

/** The account to open first: the one that was open last in this browser. */
export function firstAccount(accounts: Membership[]): Membership | undefined {
  const last = localStorage.getItem(LAST_ACCOUNT)
  return accounts.find(({ accountId }) => accountId === last) ?? accounts[0]
}
