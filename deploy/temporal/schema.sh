#!/bin/sh
# Creates and updates Temporal's two databases. A second run changes nothing, and a run of a newer release migrates them.
# It reads POSTGRES_SEEDS, DB_PORT, POSTGRES_USER and POSTGRES_PWD of temporal.env. The user may create databases.
set -eu
export SQL_PLUGIN=postgres12 SQL_HOST="$POSTGRES_SEEDS" SQL_PORT="$DB_PORT" SQL_USER="$POSTGRES_USER"
export SQL_PASSWORD="$POSTGRES_PWD"

for pair in "${DBNAME:-temporal}:temporal" "${VISIBILITY_DBNAME:-temporal_visibility}:visibility"; do
  database=${pair%:*}
  schema=postgresql/v12/${pair##*:}
  temporal-sql-tool --db "$database" create
  temporal-sql-tool --db "$database" update-schema --schema-name "$schema" && continue
  # A new database has no table for its version yet.
  temporal-sql-tool --db "$database" setup-schema -v 0.0
  temporal-sql-tool --db "$database" update-schema --schema-name "$schema"
done
