import { createRequire } from 'node:module'

// `node nodemailer.ts` sends with its own connection, `node nodemailer.ts pool` with the pool.

const nodemailer = createRequire(createRequire(import.meta.url).resolve('smtp-server'))('nodemailer')
const { PORT, VERDICT_API_KEY, FROM, TO, SUBJECT } = process.env
const transport = nodemailer.createTransport({
  host: 'localhost',
  port: Number(PORT),
  pool: process.argv[2] === 'pool',
  auth: { user: 'any', pass: VERDICT_API_KEY },
})
for (let i = 0; i < 2; i++) {
  const text = await transport.sendMail({ from: FROM, to: TO, subject: SUBJECT, text: 'Shipped.' }).then(
    () => 'sent',
    (error: Error) => `failed ${error.message.replace(/\s+/g, ' ')}`,
  )
  console.log(text)
  if (text === 'sent' || /\b5\d\d\b/.test(text)) break
}
transport.close()
