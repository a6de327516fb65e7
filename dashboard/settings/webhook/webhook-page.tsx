import { useQuery } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { useState } from 'react'
import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { type Endpoint, WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { useMay } from '../../account/account.ts'
import { ReaderNote } from '../../account/reader-note.tsx'
import { EmptyState } from '../../feedback/empty-state.tsx'
import { ErrorState } from '../../feedback/error-state.tsx'
import { LoadingSections } from '../../feedback/loading.tsx'
import { Page } from '../../frame/page.tsx'
import { present } from '../../present.ts'
import styles from '../settings.module.css'
import { DeleteSection } from './delete-section.tsx'
import { EndpointForm } from './endpoint-form.tsx'
import { EndpointList } from './endpoint-list.tsx'
import { HealthSection } from './health-section.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { SecretSection } from './secret-section.tsx'
import { TestSection } from './test-section.tsx'

/** The endpoints that receive the account's events. */
export function WebhookPage() {
  const found = useQuery(WebhookService.method.listEndpoints)
  const [secret, setSecret] = useState<string>()
  return (
    <Page title="Webhook">
      <ReaderNote />
      {found.data?.endpoints.length === 0 ? (
        <NoEndpoint onSecret={setSecret} />
      ) : found.data ? (
        <Endpoints endpoints={found.data.endpoints} onSecret={setSecret} />
      ) : found.error ? (
        <ErrorState error={found.error} retry={() => void found.refetch()} />
      ) : (
        <LoadingSections rows={[6, 2, 2]} />
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
      <EndpointForm isFirst onSecret={onSecret} />
    </section>
  )
}

const MAX_ENDPOINTS = 10

function Endpoints({ endpoints, onSecret }: SecretProps & { endpoints: Endpoint[] }) {
  const mayChange = useMay(Role.MEMBER)
  const [chosenId, setChosenId] = useState<string>()
  const [isAdding, setAdding] = useState(false)
  const chosen = endpoints.find(({ endpointId }) => endpointId === chosenId) ?? present(endpoints[0])
  const choose = (endpointId: string) => {
    setChosenId(endpointId)
    setAdding(false)
  }
  return (
    <>
      {endpoints.length > 1 && (
        <EndpointList endpoints={endpoints} chosenId={isAdding ? undefined : chosen.endpointId} onChoose={choose} />
      )}
      {isAdding ? (
        <section className={styles.section}>
          <h2>Add an endpoint</h2>
          <p className="soft">It gets a secret of its own, which is shown once, after you save.</p>
          <EndpointForm onSecret={onSecret} onSaved={choose} />
        </section>
      ) : (
        <ChosenEndpoint
          key={chosen.endpointId}
          endpoint={chosen}
          isOnly={endpoints.length === 1}
          mayChange={mayChange}
          onSecret={onSecret}
        />
      )}
      {mayChange && endpoints.length < MAX_ENDPOINTS && (
        <section className={styles.section}>
          {!isAdding && <h2>Another endpoint</h2>}
          {!isAdding && <p className="soft">Each endpoint has its own URL, secret and choice of events.</p>}
          <Button variant="default" onClick={() => setAdding(!isAdding)}>
            {isAdding ? 'Cancel' : 'Add endpoint'}
          </Button>
        </section>
      )}
    </>
  )
}

interface ChosenEndpointProps extends SecretProps {
  endpoint: Endpoint
  isOnly: boolean
  mayChange: boolean
}

function ChosenEndpoint({ endpoint, isOnly, mayChange, onSecret }: ChosenEndpointProps) {
  return (
    <>
      <HealthSection endpoint={endpoint} />
      <section className={styles.section}>
        <h2>Endpoint</h2>
        <p className="soft">
          A new URL affects the attempts that wait, too. Events that are not pushed are still stored.
        </p>
        <EndpointForm endpoint={endpoint} onSecret={onSecret} readOnly={!mayChange} />
      </section>
      {mayChange && (
        <>
          <TestSection endpoint={endpoint} />
          <SecretSection endpoint={endpoint} onSecret={onSecret} />
          <DeleteSection endpoint={endpoint} isOnly={isOnly} />
        </>
      )}
    </>
  )
}
