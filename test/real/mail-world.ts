import { rm } from 'node:fs/promises'
import { type Nsd, startNsd } from './nsd.ts'
import { mailboxFolder, type Postfix, type PostfixSetup, startPostfix } from './postfix.ts'
import { type Account, createSender, type Product, startProduct } from './product.ts'

export interface MailWorld {
  account: Account
  product: Product
  postfix: Postfix
  nsd: Nsd
  end(): Promise<void>
}

type Setup = Omit<PostfixSetup, 'mailboxes'>

export interface MailWorldSetup {
  /** Lines of the recipients' zone, `example.net`. */
  recipients: string
  postfix: (mailboxes: string) => Setup | Promise<Setup>
  env?: NodeJS.ProcessEnv
}

export const ANNA = 'anna@people.example.net'
/** One Postfix, with a mailbox for `ANNA`. */
export const ONE_MAILBOX: MailWorldSetup = {
  recipients: 'people MX 10 mx\nmx A 127.0.0.1',
  postfix: () => ({ listeners: { '127.0.0.1': {} }, addresses: { [ANNA]: 'anna' } }),
}

/**
 * Starts the product with Postfix as the recipients' server and nsd as the only DNS, so that no name leads out of the
 * machine.
 */
export async function startMailWorld({ recipients, postfix: setUp, env }: MailWorldSetup): Promise<MailWorld> {
  const mailboxes = await mailboxFolder()
  const account = await createSender()
  const nsd = await startNsd({ 'example.com': account.zone, 'example.net': recipients })
  const postfix = await startPostfix({ ...(await setUp(mailboxes)), mailboxes })
  const product = await startProduct(account, {
    DNS_SERVERS: nsd.address,
    SMTP_PORT: String(postfix.port),
    SMTP_ALLOW_SUBNETS: '127.0.0.0/8',
    SMTP_HELO_NAME: 'mail.example.com',
    ...env,
  })
  const end = async () => {
    await product.api.kill()
    await postfix.stop()
    await nsd.stop()
    await account.database.drop()
    await rm(mailboxes, { recursive: true })
  }
  return { account, product, postfix, nsd, end }
}
