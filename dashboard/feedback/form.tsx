import { Stack } from '@mantine/core'
import type { ReactNode } from 'react'

interface FormProps {
  className?: string
  onSubmit(): void
  children: ReactNode
}

/** Fields below one another, which are submitted by a call instead of a new page. */
export function Form({ className, onSubmit, children }: FormProps) {
  return (
    <form
      className={className}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      <Stack gap="md">{children}</Stack>
    </form>
  )
}
