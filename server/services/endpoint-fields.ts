import type { FieldMask } from '@bufbuild/protobuf/wkt'
import type { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { CreateEndpointRequest, UpdateEndpointRequest } from '../../gen/verdict/v1/webhooks_pb.ts'
import { nameFault } from '../../net/clean-text.ts'
import { EVENT_KINDS } from '../db/event-kinds.ts'
import { statusNames } from '../db/outcome-names.ts'
import { readDomainName } from '../domains/name.ts'
import { failField } from '../errors.ts'
import { tenantFault } from '../sending/message.ts'
import { tagFault } from '../sending/metadata.ts'
import type { EndpointFields } from '../webhooks/endpoints/change-endpoints.ts'
import { isEventKind, ONE_OF_KINDS, readEnum } from './listing/filters.ts'

export const ENDPOINT_LIMITS = { descriptionCharacters: 200, filterValues: 20 }

/** Says why a URL may not be an endpoint, as the rest of a sentence that begins with "url"; undefined when it may. */
export type UrlFaultOf = (url: string) => string | undefined

/** Reads the fields of a new endpoint. An empty list is the default. */
export function readNewEndpoint(request: CreateEndpointRequest, urlFaultOf: UrlFaultOf) {
  const { description, disabled } = request
  return {
    url: readUrl(request.url, urlFaultOf),
    description: readDescription(description) ?? null,
    events: request.events.length === 0 ? undefined : readKinds(request.events),
    statuses: request.statuses.length === 0 ? undefined : readStatuses(request.statuses),
    tags: readTags(request),
    tenantIds: readTenantIds(request),
    domains: readDomains(request),
    disabled,
  } satisfies EndpointFields
}

/** The fields of an endpoint that a request can change, by their names in the contract. */
const READERS = {
  url: ({ url = '' }, urlFaultOf) => ({ url: readUrl(url, urlFaultOf) }),
  description: ({ description }) => ({ description: readDescription(description) ?? null }),
  events: ({ events }) => ({ events: readKinds(events) }),
  statuses: ({ statuses }) => ({ statuses: readStatuses(statuses) }),
  tags: (request) => ({ tags: readTags(request) }),
  tenant_ids: (request) => ({ tenantIds: readTenantIds(request) }),
  domains: (request) => ({ domains: readDomains(request) }),
  disabled: ({ disabled = false }) => ({ disabled }),
} satisfies Record<string, (request: UpdateEndpointRequest, urlFaultOf: UrlFaultOf) => EndpointFields>

type Changeable = keyof typeof READERS
const CHANGEABLE = Object.keys(READERS) as Changeable[]

/**
 * Reads what to change of an endpoint: the fields that the mask names, or without one those that are not empty. An
 * empty mask counts as none (https://google.aip.dev/134).
 */
export function readEndpointChange(request: UpdateEndpointRequest, urlFaultOf: UrlFaultOf): EndpointFields {
  const { updateMask } = request
  const names = updateMask && updateMask.paths.length > 0 ? namesIn(updateMask) : givenIn(request)
  return Object.assign({}, ...names.map((name) => READERS[name](request, urlFaultOf)))
}

function namesIn({ paths }: FieldMask): Changeable[] {
  for (const [i, path] of paths.entries()) {
    if (path !== ID && path !== '*' && !Object.hasOwn(READERS, path))
      throw failField(`update_mask.paths[${i}]`, `must be * or one of ${CHANGEABLE.join(', ')}`)
  }
  return paths.includes('*') ? CHANGEABLE : paths.filter((path): path is Changeable => path !== ID)
}

/** REST names the endpoint in the path, which makes it one of the members that are given. */
const ID = 'endpoint_id'

function givenIn(request: UpdateEndpointRequest): Changeable[] {
  const { url, description, events, statuses, tags, tenantIds, domains, disabled } = request
  const values: Record<Changeable, unknown> = {
    ...{ url, description, events, statuses, tags, tenant_ids: tenantIds, domains, disabled },
  }
  return CHANGEABLE.filter((name) => {
    const value = values[name]
    return value !== undefined && !(Array.isArray(value) && value.length === 0)
  })
}

export function readUrl(url: string, urlFaultOf: UrlFaultOf): string {
  const fault = url === '' ? 'is required' : urlFaultOf(url)
  if (fault) throw failField('url', fault)
  return url
}

/** An empty description is none. */
function readDescription(description = ''): string | undefined {
  if (description === '') return undefined
  const fault = nameFault(description, ENDPOINT_LIMITS.descriptionCharacters)
  if (fault) throw failField('description', fault)
  return description
}

/** Returns the kinds in the order of the contract, without duplicates. */
export function readKinds(given: string[]) {
  if (given.length === 0) throw failField('events', `must not be empty: ${ONE_OF_KINDS}, or both`)
  const index = given.findIndex((kind) => !isEventKind(kind))
  if (index >= 0) throw failField(`events[${index}]`, ONE_OF_KINDS)
  return EVENT_KINDS.filter((kind) => given.includes(kind))
}

/** Returns the statuses in the order of the contract, without duplicates. */
export function readStatuses(given: DeliveryStatus[]) {
  if (given.length === 0) throw failField('statuses', 'must not be empty: name at least one status')
  for (const [i, status] of given.entries()) readEnum(`statuses[${i}]`, status, statusNames)
  return [...new Set(given)].sort((a, b) => a - b).map(statusNames.name)
}

type Filters = Pick<CreateEndpointRequest, 'tags' | 'tenantIds' | 'domains'>

const readTags = ({ tags }: Filters) => readFilter('tags', tags, (tag) => tagFault(tag) ?? { value: tag })

const readTenantIds = ({ tenantIds }: Filters) =>
  readFilter('tenant_ids', tenantIds, (id) => tenantFault(id) ?? { value: id })

const readDomains = ({ domains }: Filters) =>
  readFilter('domains', domains, (name) => {
    const value = readDomainName(name)
    return value === undefined ? 'is not a domain name. Expected something like example.com' : { value }
  })

/** Reads the values of a filter, without duplicates. null is no filter. `read` returns a value or a fault. */
function readFilter(field: string, given: string[], read: (text: string) => { value: string } | string) {
  const { filterValues } = ENDPOINT_LIMITS
  if (given.length > filterValues) throw failField(field, `must have at most ${filterValues} values`)
  const values = given.map((text, i) => {
    const found = read(text)
    if (typeof found === 'string') throw failField(`${field}[${i}]`, found)
    return found.value
  })
  return values.length === 0 ? null : [...new Set(values)]
}
