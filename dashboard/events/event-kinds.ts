/** How the pages name a kind of events. */
interface EventKindName {
  kind: string
  label: string
  /** Its events, within a sentence. */
  events: string
  /** What an endpoint that asks for it gets. */
  sentence: string
}

export const EVENT_KIND_NAMES: EventKindName[] = [
  {
    kind: 'email.delivery',
    label: 'Outcome',
    events: 'outcomes',
    sentence: 'The outcome of each recipient.',
  },
  {
    kind: 'email.feedback',
    label: 'Late bounce or complaint',
    events: 'late bounces and complaints',
    sentence: 'Late bounces and complaints, which arrive after the outcome.',
  },
]
