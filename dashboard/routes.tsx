import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { FirstAccount } from './account/first-account.tsx'
import { EVENT_PARAMETERS, type EventSearch, REPLAY_PARAMETERS, type ReplaySearch } from './events/event-filters.ts'
import { NoSuchPage, PageFault } from './frame/no-such-page.tsx'
import { readFilters } from './lists/read-filters.ts'
import { MESSAGE_PARAMETERS, type MessageSearch } from './messages/message-filters.ts'
import type { OverviewSearch } from './overview/range.ts'
import { REFUSED_PARAMETERS, type RefusedSearch } from './refused-sends/refused-filters.ts'
import { SUPPRESSION_PARAMETERS, type SuppressionSearch } from './suppressions/suppressions.ts'

// Every page of the dashboard. A page is loaded when it is first opened; its file exports the component by name.
// The parameters of an address are plain strings: `?status=bounced&from=2026-01-31T00:00:00.000Z`.

const root = createRootRoute({ component: Outlet, notFoundComponent: NoSuchPage, errorComponent: PageFault })

const first = createRoute({ getParentRoute: () => root, path: '/', component: FirstAccount })

interface SignInSearch {
  /** The page that asked to sign in. */
  back?: string
}

const signIn = createRoute({
  getParentRoute: () => root,
  path: 'sign-in',
  validateSearch: ({ back }: SignInSearch): SignInSearch => ({ back }),
  component: lazyRouteComponent(() => import('./session/sign-in-page.tsx'), 'SignInPage'),
})

/** The parameters are the issuer's. The page reads them unchanged. */
const oidc = createRoute({
  getParentRoute: () => root,
  path: 'oidc',
  component: lazyRouteComponent(() => import('./session/oidc-page.tsx'), 'OidcPage'),
})

const forgot = createRoute({
  getParentRoute: () => root,
  path: 'forgot',
  component: lazyRouteComponent(() => import('./session/forgot-page.tsx'), 'ForgotPage'),
})

const reset = createRoute({
  getParentRoute: () => root,
  path: 'reset/$token',
  component: lazyRouteComponent(() => import('./session/reset-page.tsx'), 'ResetPage'),
})

const invitation = createRoute({
  getParentRoute: () => root,
  path: 'invitation/$token',
  component: lazyRouteComponent(() => import('./session/invitation-page.tsx'), 'InvitationPage'),
})

const findMessage = createRoute({
  getParentRoute: () => root,
  path: 'messages/$message',
  component: lazyRouteComponent(() => import('./messages/find-message.tsx'), 'FindMessage'),
})

const account = createRoute({
  getParentRoute: () => root,
  path: '$account',
  component: lazyRouteComponent(() => import('./account/account-pages.tsx'), 'AccountPages'),
})

const overview = createRoute({
  getParentRoute: () => account,
  path: '/',
  validateSearch: ({ range, from, to, simulated }: OverviewSearch): OverviewSearch => ({
    range,
    from,
    to,
    simulated: simulated === 'true' ? simulated : undefined,
  }),
  component: lazyRouteComponent(() => import('./overview/overview-page.tsx'), 'OverviewPage'),
})

const messages = createRoute({
  getParentRoute: () => account,
  path: 'messages',
  validateSearch: (search): MessageSearch => readFilters(MESSAGE_PARAMETERS, search),
  component: lazyRouteComponent(() => import('./messages/messages-page.tsx'), 'MessagesPage'),
})

/** The parts of a message that are open. */
interface OpenParts {
  recipient?: string
  event?: string
}

const message = createRoute({
  getParentRoute: () => account,
  path: 'messages/$message',
  validateSearch: ({ recipient, event }: OpenParts): OpenParts => ({ recipient, event }),
  component: lazyRouteComponent(() => import('./messages/message-page.tsx'), 'MessagePage'),
})

const domains = createRoute({
  getParentRoute: () => account,
  path: 'domains',
  component: lazyRouteComponent(() => import('./domains/domains-page.tsx'), 'DomainsPage'),
})

const domain = createRoute({
  getParentRoute: () => account,
  path: 'domains/$domain',
  component: lazyRouteComponent(() => import('./domains/domain-page.tsx'), 'DomainPage'),
})

const inbox = createRoute({
  getParentRoute: () => account,
  path: 'inbox',
  validateSearch: ({ search }: { search?: string }): { search?: string } => ({ search }),
  component: lazyRouteComponent(() => import('./inbox/inbox-page.tsx'), 'InboxPage'),
})

const inboxMessage = createRoute({
  getParentRoute: () => account,
  path: 'inbox/$message',
  validateSearch: ({ tab }: { tab?: string }): { tab?: string } => ({ tab }),
  component: lazyRouteComponent(() => import('./inbox/inbox-message-page.tsx'), 'InboxMessagePage'),
})

const events = createRoute({
  getParentRoute: () => account,
  path: 'events',
  validateSearch: (search): EventSearch => readFilters(EVENT_PARAMETERS, search),
  component: lazyRouteComponent(() => import('./events/events-page.tsx'), 'EventsPage'),
})

const event = createRoute({
  getParentRoute: () => account,
  path: 'events/$event',
  component: lazyRouteComponent(() => import('./messages/event-page.tsx'), 'EventPage'),
})

const replayRange = createRoute({
  getParentRoute: () => account,
  path: 'events/replay',
  validateSearch: (search): ReplaySearch => readFilters(REPLAY_PARAMETERS, search),
  component: lazyRouteComponent(() => import('./events/replay-page.tsx'), 'ReplayPage'),
})

const replayProgress = createRoute({
  getParentRoute: () => account,
  path: 'events/replays/$replay',
  component: lazyRouteComponent(() => import('./events/replay-progress-page.tsx'), 'ReplayProgressPage'),
})

const suppressions = createRoute({
  getParentRoute: () => account,
  path: 'suppressions',
  validateSearch: (search): SuppressionSearch => readFilters(SUPPRESSION_PARAMETERS, search),
  component: lazyRouteComponent(() => import('./suppressions/suppressions-page.tsx'), 'SuppressionsPage'),
})

const suppressionImport = createRoute({
  getParentRoute: () => account,
  path: 'suppressions/import',
  component: lazyRouteComponent(() => import('./suppressions/import-page.tsx'), 'ImportPage'),
})

const refusedSends = createRoute({
  getParentRoute: () => account,
  path: 'refused-sends',
  validateSearch: (search): RefusedSearch => readFilters(REFUSED_PARAMETERS, search),
  component: lazyRouteComponent(() => import('./refused-sends/refused-sends-page.tsx'), 'RefusedSendsPage'),
})

const settings = createRoute({
  getParentRoute: () => account,
  path: 'settings',
  component: lazyRouteComponent(() => import('./settings/settings-pages.tsx'), 'SettingsPages'),
})

const settingsIndex = createRoute({
  getParentRoute: () => settings,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/$account/settings/keys', params })
  },
})

const limits = createRoute({
  getParentRoute: () => settings,
  path: 'limits',
  component: lazyRouteComponent(() => import('./settings/limits-page.tsx'), 'LimitsPage'),
})

const profile = createRoute({
  getParentRoute: () => settings,
  path: 'profile',
  component: lazyRouteComponent(() => import('./settings/profile/profile-page.tsx'), 'ProfilePage'),
})

const people = createRoute({
  getParentRoute: () => settings,
  path: 'people',
  component: lazyRouteComponent(() => import('./settings/people/people-page.tsx'), 'PeoplePage'),
})

const keys = createRoute({
  getParentRoute: () => settings,
  path: 'keys',
  component: lazyRouteComponent(() => import('./settings/keys/keys-page.tsx'), 'KeysPage'),
})

const webhook = createRoute({
  getParentRoute: () => settings,
  path: 'webhook',
  component: lazyRouteComponent(() => import('./settings/webhook/webhook-page.tsx'), 'WebhookPage'),
})

const notifications = createRoute({
  getParentRoute: () => settings,
  path: 'notifications',
  component: lazyRouteComponent(() => import('./settings/notifications/notifications-page.tsx'), 'NotificationsPage'),
})

const audit = createRoute({
  getParentRoute: () => settings,
  path: 'audit',
  validateSearch: ({ action }: { action?: string }): { action?: string } => ({ action }),
  component: lazyRouteComponent(() => import('./settings/audit/audit-page.tsx'), 'AuditPage'),
})

const tree = root.addChildren([
  first,
  signIn,
  forgot,
  reset,
  oidc,
  invitation,
  findMessage,
  account.addChildren([
    // One page a line.
    overview,
    messages,
    message,
    refusedSends,
    events,
    event,
    replayRange,
    replayProgress,
    domains,
    domain,
    inbox,
    inboxMessage,
    suppressions,
    suppressionImport,
    settings.addChildren([settingsIndex, keys, webhook, notifications, people, audit, limits, profile]),
  ]),
])

export function createPages() {
  return createRouter({
    routeTree: tree,
    basepath: '/dashboard',
    defaultPreload: 'intent',
    scrollRestoration: true,
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: writeSearch,
  })
}

function writeSearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text && `?${text}`
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPages>
  }
}
