import { Link } from '@tanstack/react-router'

export function BackToSignIn() {
  return (
    <p className="soft">
      <Link to="/sign-in" className="text-link">
        Back to sign-in
      </Link>
    </p>
  )
}
