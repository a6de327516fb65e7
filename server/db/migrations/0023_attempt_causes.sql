ALTER TABLE "attempts" ADD COLUMN "cause" text;--> statement-breakpoint
ALTER TABLE "attempts" ADD COLUMN "location" text;