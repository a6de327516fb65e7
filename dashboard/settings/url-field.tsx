import { TextInput, type TextInputProps } from '@mantine/core'

interface UrlFieldProps extends Pick<TextInputProps, 'description' | 'placeholder' | 'readOnly' | 'error'> {
  value: string
  onChange(url: string): void
}

/** The field of a URL that the service calls. */
export function UrlField({ onChange, ...rest }: UrlFieldProps) {
  return (
    <TextInput
      label="URL"
      type="url"
      onChange={(event) => onChange(event.currentTarget.value)}
      maxLength={2048}
      required
      withAsterisk={false}
      spellCheck={false}
      autoComplete="off"
      {...rest}
    />
  )
}
