import { useMutation } from '@connectrpc/connect-query'
import { Button, Checkbox, Group, Stack, Switch, TagsInput, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { DeliveryStatus } from '../../../gen/verdict/v1/outcomes_pb.ts'
import { type Endpoint, WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { EVENT_KIND_NAMES } from '../../events/event-kinds.ts'
import { fieldFaults } from '../../feedback/call-error.ts'
import { CallFault } from '../../feedback/error-state.tsx'
import { Form } from '../../feedback/form.tsx'
import { useRefresh } from '../../refresh.ts'
import { StatusPill } from '../../status/status-pill.tsx'
import styles from '../settings.module.css'
import { UrlField } from '../url-field.tsx'

const STATUSES = [DeliveryStatus.DELIVERED, DeliveryStatus.BOUNCED, DeliveryStatus.REJECTED]

/** The check box is at the middle of its badge. */
const STATUS_LABEL = { body: { alignItems: 'center' }, label: { display: 'flex' } }

interface EndpointFormProps {
  /** The endpoint to change; absent for a new one. */
  endpoint?: Endpoint
  /** The account's first endpoint is set by its URL, kinds and statuses alone. */
  isFirst?: boolean
  readOnly?: boolean
  /** Is called with the secret of a new endpoint. */
  onSecret(secret: string): void
  /** Is called with the id of a saved endpoint. */
  onSaved?(endpointId: string): void
}

const MAX_VALUES = 20
/** The form has every field of an endpoint. */
const CHANGEABLE = ['url', 'description', 'events', 'statuses', 'tags', 'tenant_ids', 'domains', 'disabled']

/** What an endpoint asks for. */
export function EndpointForm({ endpoint, isFirst = false, readOnly = false, onSecret, onSaved }: EndpointFormProps) {
  const [url, setUrl] = useState(endpoint?.url ?? '')
  const [description, setDescription] = useState(endpoint?.description ?? '')
  const [events, setEvents] = useState(endpoint?.events ?? ['email.delivery'])
  const [statuses, setStatuses] = useState((endpoint?.statuses ?? STATUSES).map(String))
  const [tags, setTags] = useState(endpoint?.tags ?? [])
  const [tenantIds, setTenantIds] = useState(endpoint?.tenantIds ?? [])
  const [domains, setDomains] = useState(endpoint?.domains ?? [])
  const [disabled, setDisabled] = useState(endpoint?.disabled ?? false)
  const refresh = useRefresh()
  const onSuccess = (saved: { secret?: string; endpointId: string }) => {
    if (saved.secret) onSecret(saved.secret)
    else notifications.show({ message: 'The endpoint is saved.' })
    onSaved?.(saved.endpointId)
    return refresh(WebhookService.method.listEndpoints)
  }
  const put = useMutation(WebhookService.method.putWebhook, { onSuccess })
  const create = useMutation(WebhookService.method.createEndpoint, { onSuccess })
  const update = useMutation(WebhookService.method.updateEndpoint, { onSuccess })
  const save = endpoint ? update : isFirst ? put : create
  const faults = fieldFaults(save.error)

  function submit(): void {
    const chosen = { url: url.trim(), events, statuses: statuses.map((status) => Number(status) as DeliveryStatus) }
    const fields = { ...chosen, description: description.trim(), tags, tenantIds, domains, disabled }
    if (endpoint) update.mutate({ endpointId: endpoint.endpointId, ...fields, updateMask: { paths: CHANGEABLE } })
    else if (isFirst) put.mutate(chosen)
    else create.mutate(fields)
  }
  return (
    <Form className={styles.wideForm} onSubmit={submit}>
      <UrlField
        description="It begins with https://, and has a public host and port 443 or 8443. The operator of this installation can allow others."
        placeholder="https://hooks.example.com/email"
        value={url}
        onChange={setUrl}
        readOnly={readOnly}
        error={faults.get('url')}
      />
      <Checkbox.Group label="Kinds of events" value={events} onChange={setEvents} error={faults.get('events')}>
        <Stack gap="xs" mt={8}>
          {EVENT_KIND_NAMES.map(({ kind, label, sentence }) => (
            <Checkbox key={kind} value={kind} label={label} description={sentence} disabled={readOnly} />
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
        <Group gap="8px 24px" mt={8}>
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
      {!isFirst && (
        <>
          <TextInput
            label="Note"
            description="For the people of the account, such as the name of the service."
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
            maxLength={200}
            readOnly={readOnly}
            error={faults.get('description')}
          />
          {(
            [
              ['Tags', 'tags', tags, setTags],
              ['Tenants', 'tenant_ids', tenantIds, setTenantIds],
              ['Sender domains', 'domains', domains, setDomains],
            ] as const
          ).map(([label, field, values, setValues]) => (
            <TagsInput
              key={field}
              label={label}
              description="Only events of sends with one of these are pushed. Empty for all."
              value={values}
              onChange={setValues}
              maxTags={MAX_VALUES}
              readOnly={readOnly}
              error={[...faults].find(([name]) => name.startsWith(field))?.[1]}
            />
          ))}
          <Switch
            label="Push new events"
            checked={!disabled}
            onChange={(event) => setDisabled(!event.currentTarget.checked)}
            disabled={readOnly}
          />
        </>
      )}
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
    </Form>
  )
}
