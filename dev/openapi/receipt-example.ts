/** A key made for this example. */
export const KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: 'nbp7ImtqNfsWNPD0DMkh4bwaoQSctFc8669oZZnjM0w',
  kid: 'rkey_01jx3c0m4qe6p8r0t2v4w6y8za',
  alg: 'EdDSA',
  use: 'sig',
}

/** A receipt that the key has signed. */
export const RECEIPT = [
  'eyJhbGciOiJFZERTQSIsImtpZCI6InJrZXlfMDFqeDNjMG00cWU2cDhyMHQydjR3Nnk4emEiLCJ0eXAiOiJ2ZXJkaWN0LXJlY2Vp',
  'cHQrand0In0.eyJpc3MiOiJodHRwczovL21haWwuZXhhbXBsZS5jb20iLCJzdWIiOiJtc2dfMDFqeDNjN3c1ZmU5YzhtMHQxcTJy',
  'M3M0djUiLCJpYXQiOjE3Njk5NDcyMDAsImZyb21fZG9tYWluIjoiZXhhbXBsZS50ZXN0IiwiY3JlYXRlZF9hdCI6IjIwMjYtMDEt',
  'MzFUMTI6MDA6MDAuMDAwWiIsImRpZ2VzdCI6InNoYS0yNTY6NTBkODU4ZTA5ODVlY2M3ZjYwNDE4YWFmMGNjNWFiNTg3ZjQyYzI1',
  'NzBhODg0MDk1YTllOGNjYWNkMGY2NTQ1YyIsInNhbmRib3giOmZhbHNlLCJyZWNpcGllbnRzIjpbeyJlbWFpbCI6ImRlbGl2ZXJl',
  'ZEBzaW11bGF0b3IudGVzdCIsImtpbmQiOiJ0byIsInN0YXR1cyI6ImRlbGl2ZXJlZCIsIm14IjoibXguc2ltdWxhdG9yLnRlc3Qi',
  'LCJpcCI6IjEyNy4wLjAuMSIsImNvZGUiOjI1MCwiZW5oYW5jZWQiOiIyLjAuMCIsInJlcGx5IjoiRGVsaXZlcmVkIiwiYXQiOiIy',
  'MDI2LTAxLTMxVDEyOjAwOjAwLjQxMloifV19.J2NYaqjTsQZbWOcHZiTi_FHknv-lrefbXw2N81wIlDM6qrpzEPb0ZC2A5Lu4-9b',
  'GMYAEZKg4doODV1hmuZ38Dw',
].join('')
