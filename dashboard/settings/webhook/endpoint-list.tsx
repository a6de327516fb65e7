import { UnstyledButton } from '@mantine/core'
import type { Endpoint } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { endpointName } from '../../attempts/endpoint-name.ts'
import { present } from '../../present.ts'
import { Pill } from '../../status/status-pill.tsx'
import { HealthLine } from './health-section.tsx'
import webhookStyles from './webhook.module.css'

interface EndpointListProps {
  endpoints: readonly Endpoint[]
  /** The id of the endpoint that is shown below; undefined while one is added. */
  chosenId: string | undefined
  onChoose(endpointId: string): void
}

/** The endpoints of an account, each with its health. */
export function EndpointList({ endpoints, chosenId, onChoose }: EndpointListProps) {
  return (
    <ul className={webhookStyles.endpoints} aria-label="Endpoints">
      {endpoints.map((endpoint) => (
        <li key={endpoint.endpointId}>
          <UnstyledButton
            className={webhookStyles.endpoint}
            aria-current={endpoint.endpointId === chosenId ? 'true' : undefined}
            onClick={() => onChoose(endpoint.endpointId)}
          >
            <strong>{endpointName(endpoint)}</strong>
            <span className="faint">{endpoint.url}</span>
            <span className={webhookStyles.line}>
              {endpoint.disabled ? (
                <Pill tone="neutral" word="Disabled" />
              ) : (
                <HealthLine health={present(endpoint.health)} />
              )}
            </span>
          </UnstyledButton>
        </li>
      ))}
    </ul>
  )
}
