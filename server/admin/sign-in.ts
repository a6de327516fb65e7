import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { SignInService } from '../../gen/verdict/admin/v1/person_pb.ts'
import type { CredentialAttempts } from '../access/people/credential-attempts.ts'
import { createLinkTokens } from '../access/people/mail-links.ts'
import { completeReset, findReset, noReset, requestReset } from '../access/people/password-resets.ts'
import { remoteAddressKey } from '../caller.ts'
import { fail } from '../errors.ts'
import type { Backend } from '../services/backend.ts'
import type { PersonServiceParts } from './person.ts'

interface SignInServiceParts
  extends Pick<Backend, 'db' | 'clock' | 'sealer' | 'notifyFrom'>,
    Pick<PersonServiceParts, 'issuer'> {
  attempts: CredentialAttempts
}

/** The calls of pages without a session: the ways to sign in, and the reset of a password. */
export function createSignInService(parts: SignInServiceParts): ServiceImpl<typeof SignInService> {
  const { issuer, sealer, notifyFrom } = parts
  const resets = { ...parts, links: createLinkTokens(sealer, 'reset') }
  const hasMail = notifyFrom !== undefined
  return {
    getSignInMethods: () => ({ issuerHost: issuer?.host, passwordReset: hasMail }),

    async requestPasswordReset({ email }, { values }) {
      if (!hasMail) throw fail('wrong_state', 'This installation sends no mail. Ask an owner of the account.')
      await requestReset(resets, { email, remoteAddress: values.get(remoteAddressKey) })
      return {}
    },

    async getPasswordReset({ token }) {
      const reset = await findReset(resets, token)
      if (!reset) throw noReset()
      return { email: reset.email, expiresAt: timestampFromMs(reset.expiresAtMs) }
    },

    async resetPassword({ token, password }, { values }) {
      return { email: await completeReset(resets, { token, password, remoteAddress: values.get(remoteAddressKey) }) }
    },
  }
}
