import { type Notification, NotificationState, TroubleKind } from '../../../gen/verdict/admin/v1/notifications_pb.ts'
import { shownIn } from '../../status/shown-in.ts'
import type { ShownState } from '../../status/statuses.ts'

/** The kinds of trouble that notifications are about. */
export const TROUBLE_WORDS: [kind: TroubleKind, name: string, sentence: string][] = [
  [
    TroubleKind.ENDPOINT_FAILING,
    'A webhook endpoint fails',
    'It has acknowledged no event for five minutes, and events wait for it.',
  ],
  [
    TroubleKind.BREAKER_OPEN,
    'Sending from a domain is paused',
    'Too much of its mail bounced or led to complaints, so its circuit breaker opened.',
  ],
  [
    TroubleKind.DOMAIN_LAPSED,
    'A domain is no longer verified',
    'Its DNS records fail their checks, and its mail is refused.',
  ],
  [
    TroubleKind.PROVIDER_REFUSES,
    'A mailbox provider refuses your mail',
    'Within an hour it blocked at least half of your emails by its policy, and there were at least 20.',
  ],
  [
    TroubleKind.PROVIDER_BAD_HOUR,
    'A mailbox provider refuses addresses that exist',
    'It refuses many addresses that took mail before. They are suppressed for at most seven days.',
  ],
]

const BEGINS: Record<TroubleKind, (subject: string) => string> = {
  [TroubleKind.UNSPECIFIED]: (subject) => subject,
  [TroubleKind.ENDPOINT_FAILING]: (subject) => `The endpoint at ${subject} fails`,
  [TroubleKind.BREAKER_OPEN]: (subject) => `Sending from ${subject} is paused`,
  [TroubleKind.DOMAIN_LAPSED]: (subject) => `${subject} is no longer verified`,
  [TroubleKind.PROVIDER_REFUSES]: (subject) => `${subject} refuses your mail`,
  [TroubleKind.PROVIDER_BAD_HOUR]: (subject) => `${subject} refuses addresses that exist`,
}

const ENDS: Record<TroubleKind, (subject: string) => string> = {
  [TroubleKind.UNSPECIFIED]: (subject) => subject,
  [TroubleKind.ENDPOINT_FAILING]: (subject) => `The endpoint at ${subject} works again`,
  [TroubleKind.BREAKER_OPEN]: (subject) => `Sending from ${subject} is no longer paused`,
  [TroubleKind.DOMAIN_LAPSED]: (subject) => `${subject} is verified again`,
  [TroubleKind.PROVIDER_REFUSES]: (subject) => `${subject} no longer refuses your mail`,
  [TroubleKind.PROVIDER_BAD_HOUR]: (subject) => `${subject} no longer refuses addresses that exist`,
}

/** The sentence of a notification. */
export function notificationWords({ kind, over, subject }: Pick<Notification, 'kind' | 'over' | 'subject'>): string {
  return shownIn(over ? ENDS : BEGINS, kind)(subject)
}

export const STATES: Record<NotificationState, ShownState> = {
  [NotificationState.UNSPECIFIED]: { tone: 'neutral', word: '' },
  [NotificationState.WAITING]: { tone: 'waiting', word: 'Waiting' },
  [NotificationState.SENT]: { tone: 'delivered', word: 'Sent' },
  [NotificationState.FAILED]: { tone: 'error', word: 'Failed' },
  [NotificationState.CANCELLED]: { tone: 'neutral', word: 'Not sent' },
}
