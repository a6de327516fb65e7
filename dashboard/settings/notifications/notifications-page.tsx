import { useQuery } from '@connectrpc/connect-query'
import { NotificationService } from '../../../gen/verdict/admin/v1/notifications_pb.ts'
import { ErrorState } from '../../feedback/error-state.tsx'
import { LoadingSections } from '../../feedback/loading.tsx'
import { Page } from '../../frame/page.tsx'
import { MailsSection } from './mails-section.tsx'
import { SentSection } from './sent-section.tsx'
import { UrlSection } from './url-section.tsx'

/** The person's choices, the account's URL, and the notifications of the last 90 days. */
export function NotificationsPage() {
  const settings = useQuery(NotificationService.method.getNotificationSettings)
  return (
    <Page title="Notifications">
      {settings.data ? (
        <>
          <MailsSection settings={settings.data} />
          <UrlSection settings={settings.data} />
        </>
      ) : settings.error ? (
        <ErrorState error={settings.error} retry={() => void settings.refetch()} />
      ) : (
        <LoadingSections rows={[3, 1, 4]} />
      )}
      <SentSection />
    </Page>
  )
}
