ALTER TABLE "sessions" ALTER COLUMN "confirmed_at" SET DEFAULT now();--> statement-breakpoint
UPDATE "sessions" SET "confirmed_at" = greatest("confirmed_at", "created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "credentials_identity" ON "credentials" USING btree ("provider_id","provider_account_id");