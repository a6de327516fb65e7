/** What an endpoint is called: its note, or the host of its URL. */
export const endpointName = ({ description, url }: { description?: string; url: string }): string =>
  description ?? new URL(url).host
