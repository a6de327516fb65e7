CREATE TABLE "cell" (
	"id" smallint PRIMARY KEY NOT NULL,
	"name" text NOT NULL
);
