import { useMutation } from '@connectrpc/connect-query'
import { Button, Group } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { ReceiptService } from '../../gen/verdict/v1/receipts_pb.ts'
import { useAccount } from '../account/account.ts'
import { CodeBlock } from '../copy/code-block.tsx'
import { CopyButton } from '../copy/copy-button.tsx'
import { saveFile } from '../export/save-file.ts'
import { CallFault } from '../feedback/error-state.tsx'

/** The signed receipt: it is made when one asks for it. */
export function Receipt({ messageId }: { messageId: string }) {
  const { person } = useAccount()
  const get = useMutation(ReceiptService.method.getReceipt)
  const file = `${messageId}.jws`
  const keys = `${person.installation?.publicUrl ?? location.origin}/.well-known/jwks.json`
  return (
    <section>
      <h3>Receipt</h3>
      <p className="soft">A signed statement of what each recipient's server said. Anyone can verify it offline.</p>
      {!get.data && (
        <Button variant="default" size="xs" loading={get.isPending} onClick={() => get.mutate({ id: messageId })}>
          Get receipt
        </Button>
      )}
      <CallFault error={get.error} />
      {get.data && (
        <>
          <Group gap="xs">
            <Button
              variant="default"
              size="xs"
              leftSection={<IconDownload size={14} aria-hidden />}
              onClick={() => saveFile(file, new Blob([`${get.data.receipt}\n`], { type: 'application/jose' }))}
            >
              Download
            </Button>
            <CopyButton text={get.data.receipt} label="receipt" wide />
          </Group>
          <p className="soft">To verify the file:</p>
          <CodeBlock code={`npx verdict receipt verify ${file} \\\n  --jwks ${keys}`} label="Verify command" />
        </>
      )}
    </section>
  )
}
