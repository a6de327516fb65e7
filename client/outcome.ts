// What the contract says in comments, as types: which fields an outcome has depends on its status.

/** Fields of `Fields`, narrowed by what is `Known` of some of them. Each member of a union is narrowed by itself. */
type Narrowed<Fields, Known> = Fields extends unknown
  ? Flat<Omit<Fields, keyof Known> & Pick<Known, keyof Known & keyof Fields>>
  : never
/** Shows one list of fields in an editor instead of the types that it was made of. */
type Flat<Fields> = { [Name in keyof Fields]: Fields[Name] }

interface Delivered {
  status: 'delivered'
  reason?: undefined
  retryable?: undefined
  in_doubt?: undefined
  suppression?: undefined
  detail?: undefined
}

interface Bounced<Reason> {
  status: 'bounced'
  reason: Reason
  suppression?: undefined
}

interface Rejected<Reason> {
  status: 'rejected'
  reason: Reason
  retryable?: undefined
  in_doubt?: undefined
}

/** An outcome by its `status`. */
export type ByStatus<Fields, BounceReason, RejectionReason> =
  | Narrowed<Fields, Delivered>
  | Narrowed<Fields, Bounced<BounceReason>>
  | Narrowed<Fields, Rejected<RejectionReason>>

interface WithoutError {
  message_id: string
  error?: undefined
  message?: undefined
  retry_after?: undefined
  details?: undefined
}

interface Failed<Error> {
  error: Error
  message: string
  message_id?: undefined
  status?: undefined
  reason?: undefined
  retryable?: undefined
  in_doubt?: undefined
  smtp?: undefined
  recipients?: undefined
  sandbox?: undefined
  checks?: undefined
  suppression?: undefined
  detail?: undefined
}

/** The result of one message of a batch: an outcome by its `status`, or an error. */
export type ByResult<Fields extends { error?: unknown }, BounceReason, RejectionReason> =
  | Narrowed<ByStatus<Fields, BounceReason, RejectionReason>, WithoutError>
  | Narrowed<Fields, Failed<NonNullable<Fields['error']>>>

interface Delivery {
  event: 'email.delivery'
  feedback?: undefined
}

interface Feedback<Kind> {
  event: 'email.feedback'
  feedback: Kind
  smtp?: undefined
  retryable?: undefined
  in_doubt?: undefined
}

/** An event by its kind, `event`: a delivery event is an outcome, a feedback event is a later report about one. */
export type ByEvent<Fields extends { feedback?: unknown }, BounceReason, RejectionReason> =
  | Narrowed<ByStatus<Fields, BounceReason, RejectionReason>, Delivery>
  | Narrowed<Fields, Feedback<NonNullable<Fields['feedback']>>>
