import { Option } from '@commander-js/extra-typings'
import { command, type Print } from './command.ts'
import { callApi, urlOption } from './service.ts'
import {
  describeEndpoint,
  eventsOption,
  KEEP_SECRET,
  statusesOption,
  type WebhookEndpoint,
} from './webhook-endpoint.ts'

// The commands for several endpoints: `verdict webhook list`, `add` and `change`.

const PATH = '/api/v1/webhooks'

const tagsOption = () => new Option('--tags <tag...>', 'Send only events of sends with one of these tags')
const tenantsOption = () => new Option('--tenants <tenant...>', 'Send only events of sends with one of these tenants')
const domainsOption = () => new Option('--domains <domain...>', 'Send only events of sends from one of these domains')

export const listCommand = (print: Print) =>
  command('list', 'verdict webhook list')
    .description('List the endpoints, the oldest first, with what they ask for and their health')
    .addOption(urlOption())
    .action(async ({ url }) => {
      const found = await callApi({ url, path: PATH })
      const endpoints = found.endpoints as WebhookEndpoint[]
      const none = 'There is no endpoint. Add one: verdict webhook add <url>'
      print({ json: found, text: endpoints.map(describeEndpoint).join('\n') || none })
    })

export const addCommand = (print: Print) =>
  command(
    'add',
    'verdict webhook add https://hooks.example.com/warehouse --description warehouse --tags order-shipped',
    'verdict webhook add https://hooks.example.com/bounces --statuses bounced --disabled',
  )
    .summary('Add an endpoint and print its secret')
    .description('Add an endpoint, up to 10, and print the secret that signs its events.')
    .argument('<endpoint_url>')
    .option('--description <text>', 'Your note on the endpoint')
    .addOption(eventsOption())
    .addOption(statusesOption())
    .addOption(tagsOption())
    .addOption(tenantsOption())
    .addOption(domainsOption())
    .option('--disabled', 'Send no events yet: test the endpoint first')
    .addOption(urlOption())
    .action(async (endpoint, { url, tenants, ...fields }) => {
      const body = { url: endpoint, ...fields, tenant_ids: tenants }
      const added = (await callApi({ url, path: PATH, method: 'POST', body })) as unknown as WebhookEndpoint
      print({ json: added, text: `${describeEndpoint(added)}\nIts secret is ${added.secret}\n${KEEP_SECRET}` })
    })

export const changeCommand = (print: Print) =>
  command(
    'change',
    'verdict webhook change whk_01jxc3d2gwf95srb9y9xd6pz4d --tags order-shipped order-paid',
    'verdict webhook change whk_01jxc3d2gwf95srb9y9xd6pz4d --all-tags --enable',
  )
    .description('Change an endpoint: the options that you give. Its secret stays.')
    .argument('<endpoint_id>', 'whk_...')
    .option('--endpoint-url <url>', 'The URL that events are sent to')
    .option('--description <text>', "Your note on the endpoint; '' removes it")
    .addOption(eventsOption())
    .addOption(statusesOption())
    .addOption(tagsOption().conflicts('allTags'))
    .addOption(tenantsOption().conflicts('allTenants'))
    .addOption(domainsOption().conflicts('allDomains'))
    .option('--all-tags', 'Remove the filter of tags')
    .option('--all-tenants', 'Remove the filter of tenants')
    .option('--all-domains', 'Remove the filter of domains')
    .addOption(new Option('--disable', 'Send no events that are stored from now on').conflicts('enable'))
    .option('--enable', 'Send events again')
    .addOption(urlOption())
    .action(async (id, { url, endpointUrl, description, events, statuses, ...options }) => {
      const filter = (values: string[] | undefined, removes: boolean | undefined) => (removes ? [] : values)
      const body = {
        url: endpointUrl,
        description,
        events,
        statuses,
        tags: filter(options.tags, options.allTags),
        tenant_ids: filter(options.tenants, options.allTenants),
        domains: filter(options.domains, options.allDomains),
        disabled: options.disable ? true : options.enable ? false : undefined,
      }
      const path = `${PATH}/${encodeURIComponent(id)}`
      const changed = (await callApi({ url, path, method: 'PATCH', body })) as unknown as WebhookEndpoint
      print({ json: changed, text: describeEndpoint(changed) })
    })
