-- Finds the last retries of the recipients of a message.
select distinct message_id as id from retries r
where first_id = $1 and not exists (
  select from retries later where later.retried_id = r.message_id and later.retried_position = r.position)
