-- Says, just before the final dot, that recipients may have the message.
with input as materialized (
  select i.message_id, i.claim, p.value::smallint as position
  from json_to_recordset($1::json) as i(message_id uuid, claim uuid, positions json),
    json_array_elements_text(i.positions) as p
)
update open_recipients o set marked_at = clock_timestamp()
from input i
where o.message_id = i.message_id and o.position = i.position and o.claim = i.claim and o.lease_until > clock_timestamp()
returning o.message_id, o.position
