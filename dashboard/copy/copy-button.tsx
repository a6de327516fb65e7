import { ActionIcon, Button } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '@tabler/icons-react'

interface CopyButtonProps {
  text: string
  /** What is copied: "message id". */
  label: string
  /** Shows the word beside the icon. */
  wide?: boolean
}

/** Copies a text. The icon and the name of the button change for a moment. */
export function CopyButton({ text, label, wide = false }: CopyButtonProps) {
  const { copy, copied } = useClipboard({ timeout: 1500 })
  const icon = copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />
  const name = copied ? `Copied ${label}` : `Copy ${label}`
  if (wide) {
    return (
      <Button variant="default" size="xs" leftSection={icon} onClick={() => copy(text)} aria-label={name}>
        {copied ? 'Copied' : 'Copy'}
      </Button>
    )
  }
  return (
    <ActionIcon variant="subtle" color="gray" size={24} onClick={() => copy(text)} aria-label={name} title={name}>
      {icon}
    </ActionIcon>
  )
}
