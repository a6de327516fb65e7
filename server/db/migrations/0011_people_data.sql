-- The audit log names who created a key. It has the key's public id: base32 of the UUID's bits after two zero bits.
UPDATE "api_keys" SET "created_by" = "entry"."actor_id"
FROM "audit_entries" "entry"
WHERE "entry"."action" = 'key.create' AND "entry"."actor_kind" = 'person' AND "entry"."account_id" = "api_keys"."account_id"
  AND "entry"."after"->>'key_id' = 'key_' || (
    SELECT string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', "five"::int + 1, 1), '' ORDER BY "i")
    FROM generate_series(0, 25) "i",
      substring(B'00' || ('x' || replace("api_keys"."id"::text, '-', ''))::bit(128) FROM "i" * 5 + 1 FOR 5) "five"
  );--> statement-breakpoint
-- An invitation proves nothing: whoever creates it has its link.
UPDATE "people" SET "email_verified" = false WHERE "email_verified";--> statement-breakpoint
-- Browsers that skip the second factor.
DELETE FROM "verifications" WHERE "identifier" LIKE 'trust-device-%';
