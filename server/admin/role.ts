import { RoleSchema } from '../../gen/verdict/admin/v1/options_pb.ts'
import { enumNames } from '../db/enum-names.ts'

/** The roles of the contract and of the database. */
export const roleNames = enumNames(RoleSchema)
