ALTER TABLE "suppression_imports" DROP CONSTRAINT "suppression_imports_state";--> statement-breakpoint
ALTER TABLE "suppressions" ADD COLUMN "import_id" uuid;--> statement-breakpoint
ALTER TABLE "suppressions" ADD COLUMN "replaced" json;--> statement-breakpoint
CREATE INDEX "suppressions_import" ON "suppressions" USING btree ("account_id","import_id","email") WHERE import_id is not null;--> statement-breakpoint
ALTER TABLE "suppression_imports" ADD CONSTRAINT "suppression_imports_state" CHECK (state in ('running', 'finished', 'cancelled', 'undone'));