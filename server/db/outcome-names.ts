import {
  type DeliveryStatus,
  DeliveryStatusSchema,
  type FeedbackKind,
  FeedbackKindSchema,
  type Reason,
  ReasonSchema,
  type RecipientKind,
  RecipientKindSchema,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { enumNames } from './enum-names.ts'

// The words of outcomes, as the database and JSON have them.

export const statusNames = enumNames<DeliveryStatus>(DeliveryStatusSchema)
export const reasonNames = enumNames<Reason>(ReasonSchema)
export const kindNames = enumNames<RecipientKind>(RecipientKindSchema)
export const feedbackNames = enumNames<FeedbackKind>(FeedbackKindSchema)
