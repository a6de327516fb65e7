#!/bin/sh
# Creates the service's user and database on the leader. A second run changes nothing. Temporal's databases belong to
# the same user, who therefore may create databases.
set -eu
. /run/secrets/patroni
PGPASSWORD=$PATRONI_SUPERUSER_PASSWORD
export PGPASSWORD

psql --no-psqlrc --set=ON_ERROR_STOP=1 --set=password="$(cat /run/secrets/postgres-password)" <<'END'
select format('create role verdict login createdb password %L', :'password')
where not exists (select from pg_roles where rolname = 'verdict') \gexec
select 'create database verdict owner verdict template template0 encoding ''UTF8'' locale ''C.UTF-8'''
where not exists (select from pg_database where datname = 'verdict') \gexec
END
