/** The pattern of a filter by time: an ISO 8601 date or time. Clients also take their language's own type for it. */
export const TIME_PATTERN = '^\\d{4}-\\d\\d-\\d\\d(T.+)?$'
