import { Link } from '@tanstack/react-router'
import { ErrorState } from '../feedback/error-state.tsx'
import { NarrowPage } from './narrow-page.tsx'

/** Shown at every address that is no page, and at accounts that the person does not belong to. */
export function NoSuchPage() {
  return (
    <NarrowPage title="There is no such page">
      <p className="soft">
        The address is wrong, or you do not belong to this account.{' '}
        <Link to="/" className="text-link">
          Go to the dashboard
        </Link>
      </p>
    </NarrowPage>
  )
}

/** Shown in the place of a page that failed. */
export function PageFault({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <NarrowPage title="Verdict">
      <ErrorState error={error} retry={reset} />
    </NarrowPage>
  )
}
