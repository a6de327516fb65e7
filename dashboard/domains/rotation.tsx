import { useMutation } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { type DkimKey, DkimKeyState, type Domain, DomainService } from '../../gen/verdict/v1/domains_pb.ts'
import { CallFault } from '../feedback/error-state.tsx'
import { Moment } from '../time/ago.tsx'
import styles from './domains.module.css'

interface RotationProps {
  domain: Domain
  mayChange: boolean
  onChanged(domain: Domain): void
}

/** The three steps of a rotation on a line: the next key, its record, and the end of the old one. */
export function Rotation({ domain, mayChange, onChanged }: RotationProps) {
  const rotate = useMutation(DomainService.method.rotateDkim, { onSuccess: onChanged })
  const keys = domain.dkim?.keys ?? []
  const next = keys.find(({ state }) => state === DkimKeyState.NEXT)
  const retired = keys.filter(({ state }) => state === DkimKeyState.RETIRED)
  return (
    <>
      <p className="soft">
        <code>{domain.dkim?.selector}</code> signs your mail with {domain.dkim?.keyBits} bits. Rotate it once a year, or
        when you think that a copy of its private key exists.
      </p>
      <ol className={styles.steps}>
        <Stage title="Create the next key" state={next ? 'done' : retired.length > 0 ? 'waiting' : 'now'}>
          {next ? (
            <code>{next.selector}</code>
          ) : (
            mayChange && (
              <Button
                variant="default"
                size="xs"
                loading={rotate.isPending}
                onClick={() => rotate.mutate({ id: domain.domainId })}
              >
                Create next key
              </Button>
            )
          )}
        </Stage>
        <Stage title="Publish its record" state={next ? 'now' : 'waiting'}>
          {next
            ? 'It is among the records above. The next key signs as soon as its record is found.'
            : 'The current key signs until the record of the next one is found.'}
        </Stage>
        <Stage title="Remove the old record" state={retired.length > 0 ? 'now' : 'waiting'}>
          {retired.length > 0
            ? retired.map((key) => <Retired key={key.selector} {...key} />)
            : 'The old record stays for 14 days, for mail that is still on its way.'}
        </Stage>
      </ol>
      <CallFault error={rotate.error} />
    </>
  )
}

function Retired({ selector, retiresAt }: DkimKey) {
  return (
    <span>
      Keep the record of <code>{selector}</code> until{' '}
      {retiresAt ? <Moment at={retiresAt} /> : 'it is no longer listed'}.
    </span>
  )
}

function Stage({ title, state, children }: { title: string; state: 'done' | 'now' | 'waiting'; children: ReactNode }) {
  return (
    <li data-state={state} aria-current={state === 'now' ? 'step' : undefined}>
      <strong>{title}</strong>
      <div className="soft">{children}</div>
    </li>
  )
}
