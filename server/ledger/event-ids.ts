/** SQL: the time of the events of `m`, a row of the CTE `message`, as their column stores it. */
export const EVENT_AT = 'greatest(m.created_at, now())::timestamptz(3)'

/**
 * SQL: the id of an event of `m`. It carries the event's timestamp, so a list by id is a list by timestamp, and a range
 * of ids is a range of times. `claimedId` is the id that the claim made; its random part stays.
 */
export const eventIdOf = (claimedId: string): string =>
  `(lpad(to_hex((extract(epoch from ${EVENT_AT}) * 1000)::int8), 12, '0') || substr(${claimedId}::text, 14))::uuid`

/**
 * SQL: the id of the original dispatch of an event to `w`, a row of `webhook_endpoints`. To the account's first
 * endpoint it is the event's id; to others it is derived from both ids. It has the time of the event: history is
 * partitioned by the time of dispatches too. The same event and endpoint always have the same one.
 */
export const originalDispatchId = (eventId: string): string => `
  case when w.first then ${eventId} else (
    select (left(${eventId}::text, 15) || left(hash, 3) || '-8' || substr(hash, 4, 3) || '-' || substr(hash, 7, 12))::uuid
    from md5(${eventId}::text || w.id::text) as hash
  ) end`
