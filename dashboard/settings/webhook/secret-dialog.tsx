import { Button, Group, Stack } from '@mantine/core'
import { CodeBlock } from '../../copy/code-block.tsx'
import { Dialog } from '../../dialog/dialog.tsx'

/** Shows a new secret once. */
export function SecretDialog({ secret, onClose }: { secret: string; onClose(): void }) {
  return (
    <Dialog
      opened
      onClose={onClose}
      title="The secret of your endpoint"
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack gap="md">
        <p>
          <strong>Copy the secret now.</strong> It is not shown again. Your endpoint verifies each request with it:{' '}
          <a href="/docs" className="text-link" target="_blank" rel="noreferrer">
            see the reference
          </a>
          .
        </p>
        <CodeBlock code={secret} label="Secret" />
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied the secret</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
