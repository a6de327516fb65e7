import type { ConnectionLike } from '@temporalio/client'
import { inTime } from '../server/async/timeout.ts'
import { publicId } from '../server/db/ids.ts'
import type { DeliveryView, LinkWorkflow, ViewedDeliveries } from '../server/webhooks/queue/workflows.ts'
import { ACCOUNT_ID, DELIVERY_STATUS, DISPATCH_KIND, ENDPOINT_ID } from './search-attributes.ts'

interface UiParts {
  /** undefined: there are no links. */
  uiUrl: string | undefined
  namespace: string
  /** Resolves to how long Temporal keeps workflows that are over; undefined when it does not say. */
  retentionMs(): Promise<number | undefined>
}

/** Links to workflows in the Temporal UI. */
export function createUiLinks({ uiUrl, namespace, retentionMs }: UiParts) {
  const base = uiUrl && `${uiUrl}/namespaces/${namespace}/workflows`

  const workflowLink: LinkWorkflow = async (workflowId, endedMs) => {
    const keptMs = endedMs === undefined ? undefined : await retentionMs()
    const keptUntilMs = endedMs === undefined || keptMs === undefined ? undefined : endedMs + keptMs
    const isGone = keptUntilMs !== undefined && keptUntilMs < Date.now()
    return { url: base && !isGone ? `${base}/${workflowId}` : undefined, keptUntilMs }
  }

  function deliveryViews(deliveries: ViewedDeliveries): DeliveryView[] {
    if (!base) return []
    const { accountId, endpointId } = deliveries
    const whose = endpointId
      ? `${ENDPOINT_ID.name} = '${publicId('whk', endpointId)}'`
      : `${ACCOUNT_ID.name} = '${publicId('acc', accountId)}'`
    const view = (title: string, condition: string) => {
      return { title, url: `${base}?query=${encodeURIComponent(`${whose} AND ${condition}`)}` }
    }
    return [
      view('Lost deliveries', `${DELIVERY_STATUS.name} = 'exhausted'`),
      view(endpointId ? 'Waiting at this endpoint' : 'Waiting deliveries', `${DELIVERY_STATUS.name} = 'waiting'`),
      view('Replays', `${DISPATCH_KIND.name} = 'replay'`),
    ]
  }

  return { workflowLink, deliveryViews }
}

const ASK_EVERY_MS = 600_000
/** After this time Temporal is asked again when it did not answer. */
const ASK_AGAIN_MS = 30_000
/** No call waits longer for a link. */
const WAIT_MS = 500

/** Asks for the retention of a namespace, and remembers it. While Temporal is away, the last answer counts. */
export function createRetention({ workflowService }: ConnectionLike, namespace: string) {
  let knownMs: number | undefined
  let askAtMs = 0

  async function ask(): Promise<void> {
    askAtMs = performance.now() + ASK_AGAIN_MS
    const { config } = await workflowService.describeNamespace({ namespace })
    const seconds = config?.workflowExecutionRetentionTtl?.seconds
    knownMs = seconds === undefined || seconds === null ? undefined : Number(seconds) * 1_000
    askAtMs = performance.now() + ASK_EVERY_MS
  }

  return async (): Promise<number | undefined> => {
    if (performance.now() >= askAtMs) await inTime(ask(), WAIT_MS).catch(() => {})
    return knownMs
  }
}
