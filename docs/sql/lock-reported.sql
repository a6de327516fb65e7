-- Makes the reports of one message wait for each other.
select from messages where id = $1 for update
