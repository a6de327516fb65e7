import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'

// The attributes by which an operator finds the workflows of webhooks in Temporal's UI. No value is an e-mail address.

const { KEYWORD, KEYWORD_LIST } = SearchAttributeType

/** The host of the endpoint's URL. */
export const WEBHOOK_ENDPOINT = defineSearchAttributeKey('WebhookEndpoint', KEYWORD)
/** `waiting`, and in the end `acknowledged`, `exhausted` or `cancelled`. */
export const DELIVERY_STATUS = defineSearchAttributeKey('DeliveryStatus', KEYWORD)
export const EVENT_IDS = defineSearchAttributeKey('EventIds', KEYWORD_LIST)
export const MESSAGE_IDS = defineSearchAttributeKey('MessageIds', KEYWORD_LIST)

export const SEARCH_ATTRIBUTES = [WEBHOOK_ENDPOINT, DELIVERY_STATUS, EVENT_IDS, MESSAGE_IDS]
