/** The text of a mail of notices: quoted-printable, in which only long lines and `=` are encoded. */
export const mailText = (mail: Buffer | string): string =>
  mail
    .toString()
    .replaceAll(/=\r?\n/g, '')
    .replaceAll('=3D', '=')
