import { useMutation } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { useState } from 'react'
import { type Endpoint, WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { NameDialog } from '../../feedback/name-dialog.tsx'
import { countOf } from '../../numbers/quantities.ts'
import { useRefresh } from '../../refresh.ts'
import styles from '../settings.module.css'

/** Deletes the endpoint. */
export function DeleteSection({ endpoint, isOnly }: { endpoint: Endpoint; isOnly: boolean }) {
  const [asking, setAsking] = useState(false)
  const refresh = useRefresh()
  const remove = useMutation(WebhookService.method.deleteEndpoint, {
    async onSuccess() {
      await refresh(WebhookService.method.listEndpoints)
    },
  })
  const waiting = endpoint.health?.waiting ?? 0
  return (
    <section className={styles.section}>
      <h2>Delete</h2>
      <p className="soft">
        {isOnly
          ? 'Later events are still stored, but not pushed. You can replay them to a new endpoint.'
          : 'No later event is pushed to it. You can replay them to another endpoint.'}
      </p>
      <Button variant="default" onClick={() => setAsking(true)}>
        Delete endpoint
      </Button>
      <NameDialog
        opened={asking}
        title="Delete endpoint"
        name={new URL(endpoint.url).host}
        verb="Delete endpoint"
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate({ endpointId: endpoint.endpointId })}
        onClose={() => setAsking(false)}
      >
        The secret is lost
        {waiting > 0 &&
          `, and ${waiting === 1 ? 'one waiting attempt is' : `${countOf(waiting)} waiting attempts are`} cancelled`}
        .
      </NameDialog>
    </section>
  )
}
