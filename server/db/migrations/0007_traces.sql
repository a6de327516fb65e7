-- The migrations of this version run in one transaction. A record of a send takes these tables before `open_dispatches`,
-- so a later migration that waited for them here would deadlock with it.
LOCK TABLE ONLY "messages", ONLY "recipients", ONLY "events" IN SHARE MODE;--> statement-breakpoint
ALTER TABLE "open_dispatches" ADD COLUMN "traceparent" text;