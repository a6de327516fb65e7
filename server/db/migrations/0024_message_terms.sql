-- The words of a message's subject and the pairs of its metadata, as hashes. They depend on the account, so that a word
-- that is common in one account is not common in the index. Lists make the terms that they look for by this function,
-- too: words are then split alike. PL/pgSQL keeps the plan of the query for a session; a
-- function in SQL would be planned by every insert before PostgreSQL 18. A request that PostgreSQL cannot read has no
-- terms: an index must not keep an outcome from being stored.
CREATE FUNCTION message_terms(account uuid, request json) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT COST 1000 AS $$
BEGIN
	RETURN array(
		SELECT hashtextextended(term, uuid_hash_extended(account, 0))
		FROM json_to_record(request) AS r(subject text, metadata json), LATERAL (
			SELECT regexp_split_to_table(lower(r.subject), '[^[:alnum:]]+')
			UNION ALL
			SELECT key || '=' || value FROM json_each_text(r.metadata)
		) AS t(term)
		WHERE term <> ''
	);
EXCEPTION WHEN data_exception THEN
	RETURN '{}';
END
$$;--> statement-breakpoint
CREATE INDEX "messages_terms" ON "messages" USING gin (message_terms(account_id, request));
