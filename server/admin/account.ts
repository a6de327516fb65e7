import type { ServiceImpl } from '@connectrpc/connect'
import type { AccountService } from '../../gen/verdict/admin/v1/account_pb.ts'
import { nameFault } from '../../net/clean-text.ts'
import { changeAs } from '../access/audit/change-as.ts'
import { record } from '../access/audit/record-change.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { NAME_CHARACTERS } from '../access/people/accept.ts'
import { renameAccount } from '../directory/accounts.ts'
import { failFields } from '../errors.ts'
import type { Backend } from '../services/backend.ts'

export function createAccountService({ db }: Pick<Backend, 'db'>): ServiceImpl<typeof AccountService> {
  return {
    async renameAccount(request, { values }) {
      const name = readName(request.name)
      await changeAs(db, requesterOf(values), async (tx, author) => {
        const before = await renameAccount(tx, author.accountId, name)
        await record(tx, {
          ...author,
          action: 'account.rename',
          target: name,
          before: { name: before },
          after: { name },
        })
      })
      return {}
    },
  }
}

/** Reads the name of an account or a person. Throws `invalid_payload`. */
export function readName(text: string): string {
  const name = text.trim()
  const message = nameFault(name, NAME_CHARACTERS)
  if (message) throw failFields('invalid_payload', [{ field: 'name', message }])
  return name
}
