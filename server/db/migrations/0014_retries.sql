CREATE TABLE "retries" (
	"retried_id" uuid NOT NULL,
	"retried_position" smallint NOT NULL,
	"message_id" uuid NOT NULL,
	"position" smallint NOT NULL,
	"first_id" uuid NOT NULL,
	"sender_position" smallint NOT NULL,
	CONSTRAINT "retries_retried_id_retried_position_pk" PRIMARY KEY("retried_id","retried_position")
);
--> statement-breakpoint
CREATE INDEX "retries_message" ON "retries" USING btree ("message_id");--> statement-breakpoint
CREATE INDEX "retries_first" ON "retries" USING btree ("first_id");