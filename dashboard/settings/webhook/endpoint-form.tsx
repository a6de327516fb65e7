import { useMutation } from '@connectrpc/connect-query'
import { Button, Checkbox, Group, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { DeliveryStatus } from '../../../gen/verdict/v1/outcomes_pb.ts'
import { type Webhook, WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { fieldFaults } from '../../feedback/call-error.ts'
import { CallFault } from '../../feedback/error-state.tsx'
import { useRefresh } from '../../refresh.ts'
import { StatusPill } from '../../status/status-pill.tsx'
import styles from '../settings.module.css'

const KINDS: [kind: string, sentence: string][] = [
  ['email.delivery', 'The outcome of each recipient.'],
  ['email.feedback', 'Late bounces and complaints, which arrive after the outcome.'],
]
const STATUSES = [DeliveryStatus.DELIVERED, DeliveryStatus.BOUNCED, DeliveryStatus.REJECTED]

/** The check box is at the middle of its badge. */
const STATUS_LABEL = { body: { alignItems: 'center' }, label: { display: 'flex' } }

interface EndpointFormProps {
  /** The current endpoint; absent before the first one. */
  webhook?: Webhook
  readOnly?: boolean
  /** Is called with the secret that the first save creates. */
  onSecret(secret: string): void
}

/** URL, kinds and statuses of the endpoint. */
export function EndpointForm({ webhook, readOnly = false, onSecret }: EndpointFormProps) {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [events, setEvents] = useState(webhook?.events ?? ['email.delivery'])
  const [statuses, setStatuses] = useState((webhook?.statuses ?? STATUSES).map(String))
  const refresh = useRefresh()
  const save = useMutation(WebhookService.method.putWebhook, {
    onSuccess(saved) {
      if (saved.secret) onSecret(saved.secret)
      else notifications.show({ message: 'The endpoint is saved.' })
      return refresh(WebhookService.method.getWebhook)
    },
  })
  const faults = fieldFaults(save.error)
  return (
    <form
      className={styles.wideForm}
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate({ url: url.trim(), events, statuses: statuses.map((status) => Number(status) as DeliveryStatus) })
      }}
    >
      <Stack gap="md">
        <TextInput
          label="URL"
          description="https with a public host, port 443 or 8443; inside the ranges that the operator allows, http, private addresses and other ports too."
          type="url"
          placeholder="https://hooks.example.com/email"
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
          maxLength={2048}
          required
          withAsterisk={false}
          readOnly={readOnly}
          spellCheck={false}
          autoComplete="off"
          error={faults.get('url')}
        />
        <Checkbox.Group label="Kinds of events" value={events} onChange={setEvents} error={faults.get('events')}>
          <Stack gap="xs" mt={8}>
            {KINDS.map(([kind, sentence]) => (
              <Checkbox
                key={kind}
                value={kind}
                label={<code>{kind}</code>}
                description={sentence}
                disabled={readOnly}
              />
            ))}
          </Stack>
        </Checkbox.Group>
        <Checkbox.Group
          label="Statuses"
          value={statuses}
          onChange={setStatuses}
          error={faults.get('statuses')}
          description="Only events of recipients with one of these are pushed."
        >
          <Group gap="lg" mt={8}>
            {STATUSES.map((status) => (
              <Checkbox
                key={status}
                value={String(status)}
                label={<StatusPill status={status} />}
                styles={STATUS_LABEL}
                disabled={readOnly}
              />
            ))}
          </Group>
        </Checkbox.Group>
        {faults.size === 0 && <CallFault error={save.error} />}
        {!readOnly && (
          <div>
            <Button
              type="submit"
              loading={save.isPending}
              disabled={url.trim() === '' || events.length === 0 || statuses.length === 0}
            >
              Save endpoint
            </Button>
          </div>
        )}
      </Stack>
    </form>
  )
}
