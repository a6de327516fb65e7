/** The address of a path below /dashboard. Only a path of ours: `//elsewhere` would be another server. */
export const dashboardPath = (path: string | undefined) =>
  path && /^\/(?![/\\])/.test(path) ? `/dashboard${path}` : '/dashboard/'
