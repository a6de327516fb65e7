import { OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'

/** What the overview shows of domains, keys and sends: to be loaded again when one of them changes. */
export const SHOWN_ON_OVERVIEW = [OverviewService.method.getOverview, OverviewService.method.getSetUp]
