import { useMutation } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { type Endpoint, type TestWebhookResponse, WebhookService } from '../../../gen/verdict/v1/webhooks_pb.ts'
import { shownAttempt } from '../../attempts/outcomes.ts'
import { ShortId } from '../../copy/short-id.tsx'
import { CallFault } from '../../feedback/error-state.tsx'
import { FactList } from '../../lists/fact-list.tsx'
import { OutsideText } from '../../outside-text/outside-text.tsx'
import { Pill } from '../../status/status-pill.tsx'
import { Ago } from '../../time/ago.tsx'
import { lengthOf } from '../../time/times.ts'
import styles from '../settings.module.css'
import webhookStyles from './webhook.module.css'

/** Sends a test event and shows the whole exchange. */
export function TestSection({ endpoint: { endpointId } }: { endpoint: Endpoint }) {
  const test = useMutation(WebhookService.method.testEndpoint)
  return (
    <section className={styles.section}>
      <h2>Test</h2>
      <p className="soft">
        Sends one signed event of the kind <code>webhook.test</code> and waits for the response. It is not stored, not
        retried, and does not count in the health.
      </p>
      <Button variant="default" onClick={() => test.mutate({ endpointId })} loading={test.isPending}>
        Send test event
      </Button>
      <div aria-live="polite" className={webhookStyles.exchange}>
        <CallFault error={test.error} />
        {test.data && <TestExchange response={test.data} />}
      </div>
    </section>
  )
}

const PHASES = [
  ['DNS', 'dnsMs'],
  ['Connect', 'connectMs'],
  ['TLS', 'tlsMs'],
  ['Headers', 'headMs'],
  ['Body', 'bodyMs'],
] as const

function TestExchange({ response }: { response: TestWebhookResponse }) {
  const { statusCode, durationMs, phases, responseExcerpt, responseCut } = response
  const { tone, word, sentence } = shownAttempt(response)
  return (
    <>
      <p className={styles.line}>
        <Pill tone={tone} word={word} /> <span>{sentence}</span>
      </p>
      <FactList
        className={styles.facts}
        facts={[
          ['Response', statusCode === undefined ? 'None' : `HTTP ${statusCode}`],
          ['Duration', lengthOf(durationMs)],
          ...PHASES.map(([name, field]): [string, string | undefined] => {
            const ms = phases?.[field]
            return [name, ms === undefined ? undefined : lengthOf(ms)]
          }),
        ]}
      />
      <p className="faint">
        Sent <Ago at={response.dispatchedAt} /> as <ShortId id={response.eventId} label="event id" />
      </p>
      {responseExcerpt !== undefined && (
        <div>
          <h3>Body of the response{responseCut && ', its beginning'}</h3>
          <div className={webhookStyles.excerpt}>
            {responseExcerpt === '' ? (
              <span className="faint">Empty</span>
            ) : (
              <OutsideText text={responseExcerpt} mono />
            )}
          </div>
        </div>
      )}
    </>
  )
}
