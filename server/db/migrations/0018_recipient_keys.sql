CREATE TABLE "recipient_keys" (
	"account_id" uuid NOT NULL,
	"key" "bytea" NOT NULL,
	"message_id" uuid NOT NULL,
	"position" smallint NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "recipient_keys_account_id_key_pk" PRIMARY KEY("account_id","key")
);
--> statement-breakpoint
CREATE INDEX "recipient_keys_message" ON "recipient_keys" USING btree ("message_id");--> statement-breakpoint
CREATE INDEX "recipient_keys_expiry" ON "recipient_keys" USING btree ("expires_at");