import { peopleWithoutSignIn } from '../../server/access/people/oidc/identities.ts'
import { Issuer, type IssuerFault } from '../../server/access/people/oidc/issuer.ts'
import { type DoctorCheck, failure, firstOf, ok, onTables, skipped, warning } from './check.ts'

const OIDC = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET']

const issuer: DoctorCheck = {
  name: 'issuer',
  about: 'the issuer of `OIDC_ISSUER` responds with metadata that name it',
  reads: OIDC,
  async run({ config: { oidc, publicUrl = '' } }) {
    if (!oidc) return skipped('OIDC_ISSUER is not set')
    let fault: IssuerFault | undefined
    const client = new Issuer(oidc, (seen) => {
      fault = seen
    })
    const request = { state: 'doctor', nonce: 'doctor', verifier: 'doctor', startedAtMs: 0, anew: false }
    try {
      await client.authorizationUrl(request, `${publicUrl}/dashboard/oidc`)
      return ok(`${client.host} answers`)
    } catch {
      const why = [fault?.message, fault?.cause].filter(Boolean).join(': ')
      return failure(
        `${client.host} does not answer with its metadata (${why}): people sign in with passwords alone`,
        'Check that this machine reaches it, and that OIDC_ISSUER is exactly the `issuer` of its discovery document.',
      )
    }
  },
}

const peopleSignIn: DoctorCheck = {
  name: 'people_sign_in',
  about: 'every person has a password, or an identity at the current issuer',
  reads: OIDC,
  run: onTables(async (db, { config: { oidc } }) => {
    const locked = await peopleWithoutSignIn(db, oidc?.issuer)
    if (locked.length === 0) return ok('every person can sign in')
    return warning(
      `${firstOf(locked)} can sign in neither with a password nor at the issuer of OIDC_ISSUER`,
      'Set OIDC_ISSUER to the issuer they used, or remove them ("npx verdict people remove") and invite them again.',
    )
  }),
}

export const SIGN_IN_CHECKS = [issuer, peopleSignIn]
