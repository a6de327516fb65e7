/**
 * SQL: the account_id, endpoint_id, attempt and created_at of the dispatches of accounts that wait: their first attempt
 * is over, or was left to a workflow. `which` limits them to an account: it is called with the name of a table. Both
 * parts have an index, so that an account reads only its own, however many dispatches of others wait.
 */
export const waitingOf = (which: (table: string) => string): string => `
    select d.account_id, d.endpoint_id, d.attempt, d.created_at from open_dispatches d
    where d.workflow_id is not null and ${which('d')}
    union all
    select d.account_id, d.endpoint_id, d.attempt, d.created_at
    from webhook_endpoints w join open_dispatches d on d.endpoint_id = w.id
    where d.workflow_id is null and d.lease_until is null and ${which('w')}`
