import { useMutation } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { type GetPersonResponse, type Identity, PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { CallFault } from '../../feedback/error-state.tsx'
import { type Column, Rows } from '../../lists/rows.tsx'
import { useRefresh } from '../../refresh.ts'
import { currentPath, IssuerButton } from '../../session/issuer-button.tsx'
import { hostOf } from '../../session/issuer-host.ts'
import { Ago } from '../../time/ago.tsx'
import styles from '../settings.module.css'

/** The identities of OpenID Connect that sign the person in. Hidden without an issuer and without identities. */
export function SignInMethodsSection({ person }: { person: GetPersonResponse }) {
  const { identities, hasPassword, installation } = person
  const issuer = installation?.issuer
  const refresh = useRefresh()
  const unlink = useMutation(PersonService.method.unlinkIdentity, {
    onSuccess: () => refresh(PersonService.method.getPerson),
  })
  if (issuer === undefined && identities.length === 0) return null
  const mayUnlink = (identity: Identity) =>
    hasPassword || identities.some((other) => other.issuer === issuer && other !== identity)
  const columns: Column<Identity>[] = [
    { head: 'Issuer', bare: true, wide: true, cell: (identity) => hostOf(identity.issuer) },
    { head: 'Linked', cell: ({ linkedAt }) => <Ago at={linkedAt} /> },
    {
      head: 'Actions',
      quiet: true,
      cell: (identity) =>
        mayUnlink(identity) ? (
          <Button
            variant="default"
            size="xs"
            loading={unlink.isPending}
            onClick={() => unlink.mutate({ issuer: identity.issuer })}
            aria-label={`Unlink ${hostOf(identity.issuer)}`}
          >
            Unlink
          </Button>
        ) : (
          <span className="faint">Your only way to sign in</span>
        ),
    },
  ]
  const isLinked = identities.some((identity) => identity.issuer === issuer)
  return (
    <section className={styles.section}>
      <h2>Sign-in methods</h2>
      <p className="soft">
        {hasPassword ? 'Your password, and the identities that are linked to you.' : 'You have no password.'} Only you
        can link an identity: the same email address alone does not link it.
      </p>
      <CallFault error={unlink.error} />
      {identities.length > 0 && (
        <Rows label="Identities" columns={columns} rows={identities} idOf={(identity) => identity.issuer} />
      )}
      {issuer !== undefined && !isLinked && <LinkButton issuer={issuer} />}
    </section>
  )
}

/** Linking requires a credential that was entered in the last ten minutes. */
function LinkButton({ issuer }: { issuer: string }) {
  return <IssuerButton host={hostOf(issuer)} purpose="link" verb={`Link ${hostOf(issuer)}`} back={currentPath()} />
}
