import { heldOutReports } from './held-out-reports.ts'
import { publicReports } from './public-reports.ts'
import { type LabelledReport, labelledReports } from './reports.ts'

/** The sets of reports: of the author of the readers, of a second person, and in the shapes of public sources. */
export const allReports = (): LabelledReport[] => [...labelledReports(), ...heldOutReports(), ...publicReports()]
