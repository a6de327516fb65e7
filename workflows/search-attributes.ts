import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'

// The attributes by which an operator finds the workflows of webhooks in Temporal's UI. No value is an e-mail address.

const { INT, KEYWORD, KEYWORD_LIST } = SearchAttributeType

export const ACCOUNT_ID = defineSearchAttributeKey('AccountId', KEYWORD)
export const ENDPOINT_ID = defineSearchAttributeKey('EndpointId', KEYWORD)
/** The host of the endpoint's URL. */
export const WEBHOOK_ENDPOINT = defineSearchAttributeKey('WebhookEndpoint', KEYWORD)
/** `waiting`, and in the end `acknowledged`, `exhausted` or `cancelled`. */
export const DELIVERY_STATUS = defineSearchAttributeKey('DeliveryStatus', KEYWORD)
/** `original` or `replay`. */
export const DISPATCH_KIND = defineSearchAttributeKey('DispatchKind', KEYWORD)
/** The number of the last attempt that began, or of the first one to come. */
export const ATTEMPT_NUMBER = defineSearchAttributeKey('AttemptNumber', INT)
export const EVENT_IDS = defineSearchAttributeKey('EventIds', KEYWORD_LIST)
export const MESSAGE_IDS = defineSearchAttributeKey('MessageIds', KEYWORD_LIST)

export const SEARCH_ATTRIBUTES = [
  ACCOUNT_ID,
  ENDPOINT_ID,
  WEBHOOK_ENDPOINT,
  DISPATCH_KIND,
  ATTEMPT_NUMBER,
  DELIVERY_STATUS,
  EVENT_IDS,
  MESSAGE_IDS,
]
