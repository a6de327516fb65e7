import { Option } from '@commander-js/extra-typings'
import { EVENT_KINDS } from '../server/db/event-kinds.ts'
import { STATUSES } from './choices.ts'

/** The fields of an endpoint that are printed as text. */
export interface WebhookEndpoint {
  endpoint_id: string
  url: string
  description?: string
  events: string[]
  statuses: string[]
  tags?: string[]
  tenant_ids?: string[]
  domains?: string[]
  disabled?: boolean
  first?: boolean
  secret?: string
  previous_secret_until?: string
  health: {
    acknowledged: number
    failed: number
    consecutive_failures: number
    last_success_at?: string
    last_failure_at?: string
    waiting: number
    oldest_waiting_at?: string
  }
}

export const KEEP_SECRET = 'Store it: it is not shown again.'

export const eventsOption = () => new Option('--events <kind...>', 'The kinds of events to send').choices(EVENT_KINDS)
export const statusesOption = () =>
  new Option('--statuses <status...>', 'Send only events with these statuses').choices(STATUSES)

/** Which events an endpoint asks for, in a line. */
export function filtersOf({ events, statuses, tags, tenant_ids, domains }: WebhookEndpoint): string {
  const words = Object.entries({ tags, tenants: tenant_ids, domains }).map(([name, values]) =>
    values?.length ? `; ${name} ${values.join(', ')}` : '',
  )
  return `${events.join(', ')}: ${statuses.join(', ')}${words.join('')}`
}

export function describeEndpoint(endpoint: WebhookEndpoint): string {
  const { endpoint_id, url, description, disabled, previous_secret_until, health } = endpoint
  const { acknowledged, failed, consecutive_failures, last_success_at, last_failure_at } = health
  const lines = [
    endpoint_id,
    description,
    disabled && 'disabled: no new events are sent to it',
    filtersOf(endpoint),
    `${acknowledged} attempts acknowledged and ${failed} failed in 24 hours`,
    consecutive_failures > 0 && `${consecutive_failures} failed since the last success (${last_success_at ?? 'never'})`,
    last_failure_at && `last failure at ${last_failure_at}`,
    health.waiting > 0 && `${health.waiting} dispatches are waiting, the oldest since ${health.oldest_waiting_at}`,
    previous_secret_until && `also signed with the previous secret until ${previous_secret_until}`,
  ]
  return [url, ...lines.filter(Boolean).map((line) => `  ${line}`)].join('\n')
}
