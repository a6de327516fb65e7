-- Renews the keys of recipients before a retry.
update recipient_keys k set expires_at = now() + interval '24 hours'
from (
  select key from recipient_keys
  where account_id = $1 and key in (select decode(value, 'hex') from json_array_elements_text($2::json))
  order by key for update
) mine
where k.account_id = $1 and k.key = mine.key
