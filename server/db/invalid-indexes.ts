/**
 * SQL: the indexes `c` that PostgreSQL does not use, because their build failed. The index of a partitioned table is
 * invalid by design while some of its days have none: `events_stream`.
 */
export const INVALID_INDEXES = `
  from pg_index i join pg_class c on c.oid = i.indexrelid where not i.indisvalid and c.relkind = 'i'`
