/**
 * Changes that break callers of the last release all the same, as `breakingChanges` words them, each with its reason. A
 * release empties the list.
 */
export const WAIVERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      'ListEmailsResponse',
      'GetEmailResponse',
      'GetReceiptResponse',
      'ListEventsResponse',
      'GetEventResponse',
      'ReplayEventResponse',
      'ReplayMessageResponse',
      'PutWebhookRequest',
      'DeleteWebhookResponse',
      'TestWebhookResponse',
      'ListDomainsResponse',
      'CreateDomainRequest',
      'UpdateDomainRequest',
      'DeleteDomainResponse',
      'GetStatsResponse',
      'GetLimitsResponse',
    ].map((schema) => [
      `the schema ${schema} is gone`,
      'A generator makes a type with this name for the operation (ADR 203). The bytes are the same, and only a client that is generated again meets the new name.',
    ]),
  ),
  'Attachment.content_type must match ^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}(?:[\\t ]*;.{0,1000})?$':
    'The pattern takes what it took, and parameters behind it.',
}
