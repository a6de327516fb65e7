/** Whether an account has used most of its monthly quota, or all of it. */
export const isNearQuota = ({ used, quota }: { used: number; quota: number }) => used >= 0.8 * quota
