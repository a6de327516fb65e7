-- Makes the reports to one return path wait for each other.
select from messages where id = $1 for update
