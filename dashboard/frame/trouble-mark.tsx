import { useQuery } from '@connectrpc/connect-query'
import { NotificationService, TroubleKind } from '../../gen/verdict/admin/v1/notifications_pb.ts'
import { shownIn } from '../status/shown-in.ts'
import styles from './trouble-mark.module.css'

/** The pages that show each kind of trouble. */
const PAGES_OF: Record<TroubleKind, string[]> = {
  [TroubleKind.UNSPECIFIED]: [],
  [TroubleKind.ENDPOINT_FAILING]: ['/$account/events', '/$account/settings/webhook'],
  [TroubleKind.BREAKER_OPEN]: ['/$account/domains'],
  [TroubleKind.DOMAIN_LAPSED]: ['/$account/domains'],
  [TroubleKind.PROVIDER_REFUSES]: ['/$account/messages'],
  [TroubleKind.PROVIDER_BAD_HOUR]: ['/$account/suppressions'],
}

const EVERY_MS = 10_000

/** Marks the link to a page while the page shows a trouble. */
export function TroubleMark({ page }: { page: string }) {
  const { data } = useQuery(NotificationService.method.listTroubles, {}, { refetchInterval: EVERY_MS })
  const subjects =
    data?.troubles.filter(({ kind }) => shownIn(PAGES_OF, kind).includes(page)).map(({ subject }) => subject) ?? []
  if (subjects.length === 0) return null
  const words = `Something is wrong with ${[...new Set(subjects)].join(', ')}`
  return <i className={styles.mark} role="img" aria-label={words} title={words} />
}
