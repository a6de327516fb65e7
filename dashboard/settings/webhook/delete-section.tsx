import { useMutation } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { useState } from 'react'
import { type Webhook, WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { NameDialog } from '../../feedback/name-dialog.tsx'
import { countOf } from '../../numbers/quantities.ts'
import { useRefresh } from '../../refresh.ts'
import styles from '../settings.module.css'

/** Deletes the endpoint. */
export function DeleteSection({ webhook }: { webhook: Webhook }) {
  const [asking, setAsking] = useState(false)
  const refresh = useRefresh()
  const remove = useMutation(WebhookService.method.deleteWebhook, {
    async onSuccess() {
      await refresh(WebhookService.method.getWebhook)
    },
  })
  const waiting = webhook.health?.waiting ?? 0
  return (
    <section className={styles.section}>
      <h2>Delete</h2>
      <p className="soft">
        Events are stored from then on and pushed nowhere. You can replay them to a later endpoint.
      </p>
      <Button variant="default" onClick={() => setAsking(true)}>
        Delete endpoint
      </Button>
      <NameDialog
        opened={asking}
        title="Delete endpoint"
        name={new URL(webhook.url).host}
        verb="Delete endpoint"
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate({})}
        onClose={() => setAsking(false)}
      >
        The secret is lost{waiting > 0 && `, and ${countOf(waiting)} waiting attempts are cancelled`}.
      </NameDialog>
    </section>
  )
}
