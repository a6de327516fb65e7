/** A value that is always there although its type leaves it open, such as a message field of the contract. */
export function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new TypeError('A value is missing')
  return value
}
