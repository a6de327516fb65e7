import { useMutation } from '@connectrpc/connect-query'
import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import {
  type GetNotificationSettingsResponse,
  NotificationService,
  type TestNotificationUrlResponse,
} from '../../../gen/verdict/admin/v1/notifications_pb.ts'
import { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { useMay } from '../../account/account.ts'
import { fieldFaults } from '../../feedback/call-error.ts'
import { CallFault } from '../../feedback/error-state.tsx'
import { Form } from '../../feedback/form.tsx'
import { OutsideText } from '../../outside-text/outside-text.tsx'
import { useRefresh } from '../../refresh.ts'
import { Pill } from '../../status/status-pill.tsx'
import { Ago } from '../../time/ago.tsx'
import { lengthOf } from '../../time/times.ts'
import styles from '../settings.module.css'
import { UrlField } from '../url-field.tsx'
import webhookStyles from '../webhook/webhook.module.css'

/** The URL that every notification of the account is posted to. */
export function UrlSection({ settings }: { settings: GetNotificationSettingsResponse }) {
  const mayChange = useMay(Role.MEMBER)
  return (
    <section className={styles.section}>
      <h2>Notification URL</h2>
      <p className="soft">
        Every notification of the account is posted to this URL as <code>{'{"text": "..."}'}</code>, the format that
        Slack, Mattermost, Rocket.Chat and others accept.
      </p>
      {settings.urlOrigin ? (
        <SetUrl settings={settings} mayChange={mayChange} />
      ) : mayChange ? (
        <UrlForm />
      ) : (
        <p className="soft">No URL is set. A member of the account can set one here.</p>
      )}
    </section>
  )
}

function useRefreshSettings() {
  const refresh = useRefresh()
  return () => refresh(NotificationService.method.getNotificationSettings)
}

function UrlForm() {
  const [url, setUrl] = useState('')
  const refresh = useRefreshSettings()
  const save = useMutation(NotificationService.method.setNotificationUrl, {
    onSuccess() {
      notifications.show({ message: 'The notification URL is set. Send a test to see that it works.' })
      return refresh()
    },
  })
  const fault = fieldFaults(save.error).get('url')
  return (
    <Form className={styles.wideForm} onSubmit={() => save.mutate({ url: url.trim() })}>
      <UrlField
        description="The address of an incoming webhook of your chat. Its path is a secret and is not shown again."
        placeholder="https://hooks.slack.com/services/..."
        value={url}
        onChange={setUrl}
        error={fault}
      />
      {!fault && <CallFault error={save.error} />}
      <div>
        <Button type="submit" loading={save.isPending} disabled={url.trim() === ''}>
          Set URL
        </Button>
      </div>
    </Form>
  )
}

interface SetUrlProps {
  settings: GetNotificationSettingsResponse
  mayChange: boolean
}

function SetUrl({ settings: { urlOrigin, urlSetAt }, mayChange }: SetUrlProps) {
  const refresh = useRefreshSettings()
  const test = useMutation(NotificationService.method.testNotificationUrl)
  const remove = useMutation(NotificationService.method.removeNotificationUrl, { onSuccess: refresh })
  return (
    <>
      <p>
        <code>{urlOrigin}/…</code>{' '}
        {urlSetAt && (
          <span className="faint">
            set <Ago at={urlSetAt} />
          </span>
        )}
      </p>
      {mayChange && (
        <Group gap="sm">
          <Button variant="default" onClick={() => test.mutate({})} loading={test.isPending}>
            Send a test
          </Button>
          <Button variant="default" onClick={() => remove.mutate({})} loading={remove.isPending}>
            Remove URL
          </Button>
        </Group>
      )}
      <div aria-live="polite" className={webhookStyles.exchange}>
        <CallFault error={test.error ?? remove.error} />
        {test.data && <TestResult result={test.data} />}
      </div>
    </>
  )
}

function TestResult({ result }: { result: TestNotificationUrlResponse }) {
  const { taken, statusCode, durationMs, detail, responseExcerpt } = result
  return (
    <>
      <p className={styles.line}>
        <Pill tone={taken ? 'delivered' : 'error'} word={taken ? 'Arrived' : 'Failed'} />{' '}
        <span>
          {detail ?? `The URL responded with ${statusCode}.`} It took {lengthOf(durationMs)}.
        </span>
      </p>
      {responseExcerpt !== undefined && (
        <div className={webhookStyles.excerpt}>
          <OutsideText text={responseExcerpt} mono />
        </div>
      )}
    </>
  )
}
