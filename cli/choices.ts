import {
  DeliveryStatusSchema,
  EvidenceKindSchema,
  FeedbackKindSchema,
  ReasonSchema,
  SuppressionReasonSchema,
} from '../gen/verdict/v1/outcomes_pb.ts'
import { shortNames } from '../server/db/enum-names.ts'

// The values that options can have. The help lists them, and a shell completes them.

export const STATUSES = shortNames(DeliveryStatusSchema)
export const REASON_CHOICES = shortNames(ReasonSchema)
export const FEEDBACK_KINDS = shortNames(FeedbackKindSchema)
export const SUPPRESSION_REASONS = shortNames(SuppressionReasonSchema)
export const EVIDENCE_KINDS = shortNames(EvidenceKindSchema)
