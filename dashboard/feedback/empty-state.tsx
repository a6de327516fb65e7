import type { ReactNode } from 'react'
import { CodeBlock } from '../copy/code-block.tsx'
import styles from './feedback.module.css'

interface EmptyStateProps {
  /** What would be here. */
  title: string
  /** How to make it appear. */
  children?: ReactNode
  /** A command that makes it appear. */
  command?: string
  /** A button or a link. */
  action?: ReactNode
}

/** Shown in the place of an empty list. */
export function EmptyState({ title, children, command, action }: EmptyStateProps) {
  return (
    <div className={styles.state}>
      <p className={styles.title}>{title}</p>
      {children && <p className={`soft ${styles.words}`}>{children}</p>}
      {command && <CodeBlock code={command} label="Command" />}
      {action}
    </div>
  )
}
