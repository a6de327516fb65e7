#!/bin/sh
# Creates and updates Temporal's two databases. A second run changes nothing, and a run of a newer image migrates them.
# SQL_HOST and SQL_USER say where; the user may create databases.
set -eu
SQL_PASSWORD=$(cat /run/secrets/postgres-password)
export SQL_PASSWORD SQL_PLUGIN=postgres12 SQL_PORT=5432

for pair in temporal:temporal temporal_visibility:visibility; do
  database=${pair%:*}
  versions=/etc/temporal/schema/postgresql/v12/${pair#*:}/versioned
  temporal-sql-tool --db "$database" create
  temporal-sql-tool --db "$database" update-schema -d "$versions" && continue
  # A new database has no table for its version yet.
  temporal-sql-tool --db "$database" setup-schema -v 0.0
  temporal-sql-tool --db "$database" update-schema -d "$versions"
done
