/** The host of an issuer, as people know it. */
export const hostOf = (issuer: string) => (URL.canParse(issuer) ? new URL(issuer).host : issuer)
