/** SQL: the time of the events of `m`, a row of the CTE `message`, as their column stores it. */
export const EVENT_AT = 'greatest(m.created_at, now())::timestamptz(3)'

/**
 * SQL: the id of an event of `m`. It carries the event's timestamp, so a list by id is a list by timestamp, and a range
 * of ids is a range of times. `claimedId` is the id that the claim made; its random part stays.
 */
export const eventIdOf = (claimedId: string): string =>
  `(lpad(to_hex((extract(epoch from ${EVENT_AT}) * 1000)::int8), 12, '0') || substr(${claimedId}::text, 14))::uuid`
