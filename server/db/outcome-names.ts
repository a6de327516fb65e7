import {
  DecidedBySchema,
  DeliveryStatusSchema,
  EvidenceKindSchema,
  FeedbackKindSchema,
  ReasonSchema,
  RecipientKindSchema,
  SmtpPhaseSchema,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { enumNames } from './enum-names.ts'

// The words of outcomes, as the database and JSON have them.

export const statusNames = enumNames(DeliveryStatusSchema)
export const reasonNames = enumNames(ReasonSchema)
export const kindNames = enumNames(RecipientKindSchema)
export const feedbackNames = enumNames(FeedbackKindSchema)
export const phaseNames = enumNames(SmtpPhaseSchema)
export const decidedByNames = enumNames(DecidedBySchema)
export const evidenceKindNames = enumNames(EvidenceKindSchema)
