CREATE TABLE "notices" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid,
	"kind" text NOT NULL,
	"is_over" boolean DEFAULT false NOT NULL,
	"is_open" boolean DEFAULT false NOT NULL,
	"subject_id" uuid,
	"subject" text DEFAULT '' NOT NULL,
	"since" timestamp (3) with time zone,
	"waiting" integer,
	"channel" text NOT NULL,
	"person_id" uuid,
	"email" text,
	"state" text DEFAULT 'waiting' NOT NULL,
	"tries" smallint DEFAULT 0 NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"lease_until" timestamp (3) with time zone,
	"outcome" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"used_at" timestamp (3) with time zone,
	CONSTRAINT "notices_kind" CHECK (kind in ('endpoint_failing', 'breaker_open', 'domain_lapsed', 'invitation', 'password_reset')),
	CONSTRAINT "notices_channel" CHECK (channel in ('mail', 'url')),
	CONSTRAINT "notices_state" CHECK (state in ('waiting', 'sent', 'failed', 'cancelled'))
);
--> statement-breakpoint
CREATE TABLE "notification_choices" (
	"account_id" uuid NOT NULL,
	"person_id" uuid NOT NULL,
	"kinds" text[] NOT NULL,
	CONSTRAINT "notification_choices_account_id_person_id_pk" PRIMARY KEY("account_id","person_id")
);
--> statement-breakpoint
CREATE TABLE "notification_urls" (
	"account_id" uuid PRIMARY KEY NOT NULL,
	"url" "bytea" NOT NULL,
	"origin" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "notices" ADD CONSTRAINT "notices_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notification_choices" ADD CONSTRAINT "notification_choices_member" FOREIGN KEY ("account_id","person_id") REFERENCES "public"."members"("account_id","person_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notification_urls" ADD CONSTRAINT "notification_urls_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "notices_account" ON "notices" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "notices_due" ON "notices" USING btree ("due_at") WHERE state = 'waiting';--> statement-breakpoint
CREATE INDEX "notices_open" ON "notices" USING btree ("subject_id") WHERE is_open;--> statement-breakpoint
CREATE INDEX "notices_subject" ON "notices" USING btree ("subject_id","created_at");--> statement-breakpoint
CREATE INDEX "notices_person" ON "notices" USING btree ("person_id","created_at");