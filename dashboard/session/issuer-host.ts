/** The host of an issuer's URL. */
export const hostOf = (issuer: string) => (URL.canParse(issuer) ? new URL(issuer).host : issuer)
