ALTER TABLE "audit_entries" DROP CONSTRAINT "audit_entries_actor_kind";--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "created_by" uuid;--> statement-breakpoint
ALTER TABLE "second_factors" ADD COLUMN "last_step" integer;--> statement-breakpoint
ALTER TABLE "audit_entries" ADD CONSTRAINT "audit_entries_actor_kind" CHECK (actor_kind in ('person', 'api_key', 'operator', 'stranger'));