import { useQuery } from '@connectrpc/connect-query'
import { IconExternalLink } from '@tabler/icons-react'
import { ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import styles from './attempts.module.css'

/** Links to lists of deliveries in the Temporal UI. Nothing without its address. */
export function DeliveryViews({ endpointId }: { endpointId?: string }) {
  const { data } = useQuery(
    ReplayService.method.listDeliveryViews,
    { endpointId },
    { staleTime: Number.POSITIVE_INFINITY },
  )
  if (!data) return <div className={styles.views} />
  if (data.views.length === 0) return null
  return (
    <p className={styles.views}>
      <span className="soft">In Temporal:</span>
      {data.views.map(({ title, url }) => (
        <a key={title} href={url} target="_blank" rel="noreferrer" className="text-link">
          {title}
          <IconExternalLink size={12} aria-label="opens another site" />
        </a>
      ))}
    </p>
  )
}
