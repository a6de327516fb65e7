import { useMutation } from '@connectrpc/connect-query'
import { Checkbox, Stack } from '@mantine/core'
import {
  type GetNotificationSettingsResponse,
  NotificationService,
  type TroubleKind,
} from '../../../gen/verdict/admin/v1/notifications_pb.ts'
import { useAccount } from '../../account/account.ts'
import { CallFault } from '../../feedback/error-state.tsx'
import { EmailAddress } from '../../outside-text/address.tsx'
import { useRefresh } from '../../refresh.ts'
import styles from '../settings.module.css'
import { TROUBLE_WORDS } from './words.ts'

/** The kinds of trouble that the person gets mail about. A choice is stored at once. */
export function MailsSection({ settings: { mails, mailFrom } }: { settings: GetNotificationSettingsResponse }) {
  const { person } = useAccount()
  const refresh = useRefresh()
  const save = useMutation(NotificationService.method.setNotificationMails, {
    onSettled: () => refresh(NotificationService.method.getNotificationSettings),
  })
  const chosen = save.isPending ? (save.variables.mails ?? []) : mails
  const change = (kind: TroubleKind, isOn: boolean) =>
    save.mutate({ mails: isOn ? [...chosen, kind] : chosen.filter((one) => one !== kind) })
  return (
    <section className={styles.section}>
      <h2>Mail to you</h2>
      {mailFrom ? (
        <p className="soft">
          Sent to <EmailAddress email={person.email} /> when a trouble begins and when it ends, at most once an hour for
          the same trouble. Each person of the account chooses separately.
        </p>
      ) : (
        <p className="soft" role="note">
          This installation sends no notification mail. Its operator can set <code>NOTIFY_FROM</code> to turn it on. A
          notification URL works without it.
        </p>
      )}
      <Stack gap="sm">
        {TROUBLE_WORDS.map(([kind, name, sentence]) => (
          <Checkbox
            key={kind}
            label={name}
            description={sentence}
            checked={chosen.includes(kind)}
            disabled={!mailFrom || save.isPending}
            onChange={(event) => change(kind, event.currentTarget.checked)}
          />
        ))}
      </Stack>
      <CallFault error={save.error} />
    </section>
  )
}
