/**
 * The schemas whose name differs from their message's. Generators make types named after an operation, such as
 * `GetEmailResponse` for `getEmail`, so no schema's name may begin with one.
 */
const SCHEMA_NAMES: Record<string, string> = {
  ListEmailsResponse: 'EmailPage',
  ListRefusedSendsResponse: 'RefusedSendPage',
  GetEmailResponse: 'EmailDetails',
  GetReceiptResponse: 'Receipt',
  ListEventsResponse: 'EventPage',
  GetEventResponse: 'EventDetails',
  ListChangesResponse: 'EventChanges',
  ReplayEventRequest: 'EventReplayOptions',
  ReplayEventResponse: 'EventReplay',
  ReplayMessageRequest: 'MessageReplayOptions',
  ReplayMessageResponse: 'MessageReplay',
  ListEndpointsResponse: 'EndpointList',
  CreateEndpointRequest: 'EndpointSettings',
  UpdateEndpointRequest: 'EndpointChanges',
  DeleteEndpointResponse: 'EndpointDeletion',
  PutWebhookRequest: 'WebhookSettings',
  DeleteWebhookResponse: 'WebhookDeletion',
  TestWebhookResponse: 'WebhookTestResult',
  ListDomainsResponse: 'DomainList',
  CreateDomainRequest: 'DomainSettings',
  UpdateDomainRequest: 'DomainChanges',
  DeleteDomainResponse: 'DomainDeletion',
  GetStatsResponse: 'Stats',
  GetLimitsResponse: 'Limits',
  GetAccountResponse: 'Account',
}

export const schemaName = (message: string): string => SCHEMA_NAMES[message] ?? message

/** The message of a schema, by the schema's name. */
export const CONTRACT_NAMES: Record<string, string> = Object.fromEntries(
  Object.entries(SCHEMA_NAMES).map(([message, schema]) => [schema, message]),
)
