import type { ReactNode } from 'react'

interface FactListProps {
  facts: [term: string, value: ReactNode][]
  className?: string
}

/** Terms and their values. One without a value is left out. */
export function FactList({ facts, className }: FactListProps) {
  return (
    <dl className={className}>
      {facts.map(
        ([term, value]) =>
          value && (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
