CREATE TABLE "address_warm_ups" (
	"address" text NOT NULL,
	"provider" text NOT NULL,
	"started_on" date NOT NULL,
	"day" date NOT NULL,
	"emails" integer NOT NULL,
	CONSTRAINT "address_warm_ups_address_provider_pk" PRIMARY KEY("address","provider")
);
--> statement-breakpoint
CREATE TABLE "site_books" (
	"address" text NOT NULL,
	"site" text NOT NULL,
	"version" integer NOT NULL,
	"book" json NOT NULL,
	"is_contended" boolean NOT NULL,
	"changed_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "site_books_address_site_pk" PRIMARY KEY("address","site")
);
--> statement-breakpoint
ALTER TABLE "domains" ADD COLUMN "pool" text;--> statement-breakpoint
CREATE INDEX "site_books_contended" ON "site_books" USING btree ("address") WHERE is_contended;