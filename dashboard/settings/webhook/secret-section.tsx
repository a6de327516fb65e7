import { useMutation } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { useState } from 'react'
import { type Endpoint, WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { NameDialog } from '../../feedback/name-dialog.tsx'
import { present } from '../../present.ts'
import { useRefresh } from '../../refresh.ts'
import { Countdown } from '../../time/ago.tsx'
import styles from '../settings.module.css'

/** Replaces the secret that signs requests. */
export function SecretSection({ endpoint, onSecret }: { endpoint: Endpoint; onSecret(secret: string): void }) {
  const [asking, setAsking] = useState(false)
  const refresh = useRefresh()
  const rotate = useMutation(WebhookService.method.rotateEndpointSecret, {
    async onSuccess(rotated) {
      setAsking(false)
      onSecret(present(rotated.secret))
      await refresh(WebhookService.method.listEndpoints)
    },
  })
  return (
    <section className={styles.section}>
      <h2>Secret</h2>
      <p className="soft">
        It signs each request, so that your endpoint knows that the request is ours. It is not shown again.
        {endpoint.previousSecretUntil && (
          <>
            {' '}
            The previous secret also signs, in <code>Service-Signature-Previous</code>. It ends{' '}
            <strong>
              <Countdown at={endpoint.previousSecretUntil} passed="now" />
            </strong>
            .
          </>
        )}
      </p>
      <Button variant="default" onClick={() => setAsking(true)}>
        Replace secret
      </Button>
      <NameDialog
        opened={asking}
        title="Replace the secret"
        name={new URL(endpoint.url).host}
        verb="Replace secret"
        pending={rotate.isPending}
        error={rotate.error}
        onConfirm={() => rotate.mutate({ endpointId: endpoint.endpointId })}
        onClose={() => setAsking(false)}
      >
        The new secret is shown once. For 24 hours requests are also signed with the previous one: give the new secret
        to your endpoint within that time.
        {endpoint.previousSecretUntil && ' The secret before it, which still signs now, ends immediately.'}
      </NameDialog>
    </section>
  )
}
