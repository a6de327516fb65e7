/** The product's sign. */
export function BrandMark() {
  return (
    <svg width={24} height={24} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--ink)" />
      <path
        d="m9 16.5 4.6 4.6L23.5 11"
        fill="none"
        stroke="var(--surface)"
        strokeWidth="3.2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  )
}
