import { useQuery } from '@connectrpc/connect-query'
import { Button, Group, Stack } from '@mantine/core'
import type { CreateKeyResponse } from '../../../gen/verdict/admin/v1/keys_pb.ts'
import { OverviewService } from '../../../gen/verdict/admin/v1/overview_pb.ts'
import { CodeBlock } from '../../copy/code-block.tsx'
import { firstCall } from './first-call.ts'
import styles from './keys.module.css'

/** A new key, shown once, with a command that uses it. */
export function CreatedKey({ created, onDone }: { created: CreateKeyResponse; onDone(): void }) {
  const setUp = useQuery(OverviewService.method.getSetUp)
  const scopes = created.apiKey?.scopes ?? []
  const command = firstCall({ key: created.key, scopes, origin: location.origin, domain: setUp.data?.verifiedDomain })
  return (
    <Stack gap="md">
      <div className={styles.once}>
        <Stack gap="xs">
          <p>
            <strong>Copy the key now.</strong> It is not shown again: Verdict stores only its hash.
          </p>
          <CodeBlock code={created.key} label="Key" />
        </Stack>
      </div>
      <Stack gap={4}>
        <h3 className={styles.title}>Try it</h3>
        <CodeBlock code={command} label="Command" wrap />
      </Stack>
      <Group justify="flex-end">
        <Button onClick={onDone}>I have copied the key</Button>
      </Group>
    </Stack>
  )
}
