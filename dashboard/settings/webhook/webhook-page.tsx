import { useQuery } from '@connectrpc/connect-query'
import { useState } from 'react'
import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { type Webhook, WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { useMay } from '../../account/account.ts'
import { ReaderNote } from '../../account/reader-note.tsx'
import { reasonOf } from '../../feedback/call-error.ts'
import { EmptyState } from '../../feedback/empty-state.tsx'
import { ErrorState } from '../../feedback/error-state.tsx'
import { LoadingBlock } from '../../feedback/loading.tsx'
import { Page } from '../../frame/page.tsx'
import styles from '../settings.module.css'
import { DeleteSection } from './delete-section.tsx'
import { EndpointForm } from './endpoint-form.tsx'
import { HealthSection } from './health-section.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { SecretSection } from './secret-section.tsx'
import { TestSection } from './test-section.tsx'

/** The endpoint that receives the account's events. */
export function WebhookPage() {
  const found = useQuery(WebhookService.method.getWebhook)
  const [secret, setSecret] = useState<string>()
  const missing = ['not_found', 'webhook_not_configured'].includes(reasonOf(found.error) ?? '')
  return (
    <Page title="Webhook">
      <ReaderNote />
      {missing ? (
        <NoEndpoint onSecret={setSecret} />
      ) : found.data ? (
        <Endpoint webhook={found.data} onSecret={setSecret} />
      ) : found.error ? (
        <ErrorState error={found.error} retry={() => void found.refetch()} />
      ) : (
        <LoadingBlock height={480} />
      )}
      {secret && <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </Page>
  )
}

interface SecretProps {
  /** Shows a secret that a call has just created. */
  onSecret(secret: string): void
}

function NoEndpoint({ onSecret }: SecretProps) {
  const mayChange = useMay(Role.MEMBER)
  if (!mayChange) return <EmptyState title="No endpoint yet">A member of the account can set one here.</EmptyState>
  return (
    <section className={styles.section}>
      <h2>Set your endpoint</h2>
      <p className="soft">
        Verdict pushes each outcome to it as a signed POST, and retries until it responds with 200. The secret that
        verifies the signature is shown once, after you save.
      </p>
      <EndpointForm onSecret={onSecret} />
    </section>
  )
}

function Endpoint({ webhook, onSecret }: SecretProps & { webhook: Webhook }) {
  const mayChange = useMay(Role.MEMBER)
  return (
    <>
      <HealthSection webhook={webhook} />
      <section className={styles.section}>
        <h2>Endpoint</h2>
        <p className="soft">
          A change affects the attempts that wait, too. Events that are not pushed are still stored.
        </p>
        <EndpointForm webhook={webhook} onSecret={onSecret} readOnly={!mayChange} />
      </section>
      {mayChange && (
        <>
          <TestSection />
          <SecretSection webhook={webhook} onSecret={onSecret} />
          <DeleteSection webhook={webhook} />
        </>
      )}
    </>
  )
}
