ALTER TABLE "feedback" ADD COLUMN "counted" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "hourly_stats" ADD COLUMN "uncounted_complaints" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "hourly_stats" ADD COLUMN "uncounted_late_bounces" integer DEFAULT 0 NOT NULL;