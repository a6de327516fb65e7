-- Reads the outcomes of sends, for repeats with their keys.
select message_id as "messageId", email, kind, status, reason, retryable, in_doubt as "inDoubt", smtp, suppression
from recipients where message_id = any($1) and message_id between $2 and $3 order by message_id, position
