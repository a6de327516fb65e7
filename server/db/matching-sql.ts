/**
 * SQL: the matching form of an address in a column, as `matchingForm` of mail/address.ts makes it. The collation "C"
 * lowers A to Z alone; any other one follows a locale, which may lower more letters, or other ones.
 */
export const matchingSql = (column: string): string => `lower(${column} collate "C")`

/** SQL: the domain of an address in a column, in lower case. */
export const recipientDomainSql = (column: string): string => `lower(split_part(${column}, '@', -1) collate "C")`
