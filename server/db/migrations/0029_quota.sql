CREATE TABLE "monthly_emails" (
	"account_id" uuid NOT NULL,
	"month" date NOT NULL,
	"emails" integer NOT NULL,
	CONSTRAINT "monthly_emails_account_id_month_pk" PRIMARY KEY("account_id","month")
);
--> statement-breakpoint
ALTER TABLE "open_messages" ADD COLUMN "quota_month" date;--> statement-breakpoint
ALTER TABLE "open_messages" ADD COLUMN "quota_emails" integer;--> statement-breakpoint
ALTER TABLE monthly_emails SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
