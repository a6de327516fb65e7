import { PasswordInput, type PasswordInputProps } from '@mantine/core'

interface PasswordFieldProps extends Omit<PasswordInputProps, 'onChange' | 'autoComplete' | 'required'> {
  /** Whether the person chooses the password here. Otherwise it is the one that they have. */
  isNew?: boolean
  value: string
  onChange(password: string): void
}

/** The longest and the shortest password that the server takes. */
const NEW = { description: 'At least 12 characters.', minLength: 12, maxLength: 128 }

/** The field of a required password. A password manager fills in the current one, and offers a new one. */
export function PasswordField({
  isNew,
  label = isNew ? 'New password' : 'Password',
  onChange,
  ...rest
}: PasswordFieldProps) {
  return (
    <PasswordInput
      label={label}
      autoComplete={isNew ? 'new-password' : 'current-password'}
      {...(isNew && NEW)}
      onChange={(event) => onChange(event.currentTarget.value)}
      required
      withAsterisk={false}
      {...rest}
    />
  )
}
