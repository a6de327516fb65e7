import { createRequire } from 'node:module'

// Loads Drizzle as CommonJS. Its ES modules re-export one another in circles, and Node needs a second of CPU time and
// 210 MB of memory to link them, in every process and thread. The CommonJS files load in 0.2 s
// (docs/adr/0095-memory-after-the-start.md).

const require = createRequire(import.meta.url)

export const {
  and,
  asc,
  between,
  desc,
  eq,
  getTableColumns,
  getTableName,
  gt,
  gte,
  inArray,
  isNull,
  lt,
  lte,
  ne,
  notInArray,
  or,
  sql,
} = require('drizzle-orm') as typeof import('drizzle-orm')

export const {
  bigint,
  boolean,
  check,
  customType,
  date,
  foreignKey,
  getTableConfig,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} = require('drizzle-orm/pg-core') as typeof import('drizzle-orm/pg-core')

export const { drizzle } = require('drizzle-orm/postgres-js') as typeof import('drizzle-orm/postgres-js')

export const { readMigrationFiles } = require('drizzle-orm/migrator') as typeof import('drizzle-orm/migrator')

export const { DrizzleQueryError } = require('drizzle-orm/errors') as typeof import('drizzle-orm/errors')
