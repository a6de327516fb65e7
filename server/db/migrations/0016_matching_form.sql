DROP INDEX "events_recipient";--> statement-breakpoint
DROP INDEX "feedback_report";--> statement-breakpoint
DROP INDEX "recipients_email";--> statement-breakpoint
CREATE INDEX "events_recipient" ON "events" USING btree ("account_id",lower(recipient collate "C"),"id");--> statement-breakpoint
CREATE UNIQUE INDEX "feedback_report" ON "feedback" USING btree ("message_id",lower(recipient collate "C"),"kind");--> statement-breakpoint
CREATE INDEX "recipients_email" ON "recipients" USING btree ("account_id",lower(email collate "C"),"message_id");