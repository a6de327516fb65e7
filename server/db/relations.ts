import { relations } from './drizzle.ts'
import { dkimKeys, domains } from './schema.ts'

// What `db.query` can read in one call, `with` its parent.

export const domainRelations = relations(domains, ({ many }) => ({ dkimKeys: many(dkimKeys) }))

export const dkimKeyRelations = relations(dkimKeys, ({ one }) => ({
  domain: one(domains, { fields: [dkimKeys.domainId], references: [domains.id] }),
}))
