-- Several endpoints for an account. The one that an account has keeps the account's id as its own: its secrets are sealed
-- for that id, and rows of history without an endpoint belong to it.
CREATE TABLE "webhook_urls" (
	"account_id" uuid NOT NULL,
	"endpoint_id" uuid NOT NULL,
	"version" integer NOT NULL,
	"url" text NOT NULL,
	"replaced_at" timestamp (3) with time zone,
	CONSTRAINT "webhook_urls_endpoint_id_version_pk" PRIMARY KEY("endpoint_id","version")
);
--> statement-breakpoint
DROP INDEX "dispatches_replays";--> statement-breakpoint
DROP INDEX "open_dispatches_replays";--> statement-breakpoint
DROP INDEX "open_dispatches_unassigned";--> statement-breakpoint
ALTER TABLE "webhook_hours" DROP CONSTRAINT "webhook_hours_account_id_hour_pk";--> statement-breakpoint
ALTER TABLE "webhook_hours" ADD COLUMN "endpoint_id" uuid;--> statement-breakpoint
UPDATE "webhook_hours" SET "endpoint_id" = "account_id";--> statement-breakpoint
ALTER TABLE "webhook_hours" ADD CONSTRAINT "webhook_hours_account_id_endpoint_id_hour_pk" PRIMARY KEY("account_id","endpoint_id","hour");--> statement-breakpoint
ALTER TABLE "attempts" ADD COLUMN "url_version" integer;--> statement-breakpoint
ALTER TABLE "dispatches" ADD COLUMN "endpoint_id" uuid;--> statement-breakpoint
ALTER TABLE "open_dispatches" ADD COLUMN "endpoint_id" uuid;--> statement-breakpoint
UPDATE "open_dispatches" SET "endpoint_id" = "account_id";--> statement-breakpoint
ALTER TABLE "open_dispatches" ALTER COLUMN "endpoint_id" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" DROP CONSTRAINT "webhook_endpoints_pkey";--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "id" uuid;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "first" boolean DEFAULT false NOT NULL;--> statement-breakpoint
UPDATE "webhook_endpoints" SET "id" = "account_id", "first" = true;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD PRIMARY KEY ("id");--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "url_version" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "description" text;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "tags" text[];--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "tenant_ids" text[];--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "domains" text[];--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "disabled" boolean DEFAULT false NOT NULL;--> statement-breakpoint
INSERT INTO "webhook_urls" ("account_id", "endpoint_id", "version", "url") SELECT "account_id", "id", 1, "url" FROM "webhook_endpoints";--> statement-breakpoint
CREATE INDEX "dispatches_event" ON "dispatches" USING btree ("event_id") WHERE id <> event_id;--> statement-breakpoint
CREATE INDEX "open_dispatches_event" ON "open_dispatches" USING btree ("event_id") WHERE id <> event_id;--> statement-breakpoint
CREATE INDEX "webhook_endpoints_account" ON "webhook_endpoints" USING btree ("account_id");--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_endpoints_first" ON "webhook_endpoints" USING btree ("account_id") WHERE first;--> statement-breakpoint
CREATE INDEX "open_dispatches_unassigned" ON "open_dispatches" USING btree ("endpoint_id","attempt","due_at") WHERE workflow_id is null and lease_until is null;
