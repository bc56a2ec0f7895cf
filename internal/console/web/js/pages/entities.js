// @ts-check
// What the console needs to know of each entity beyond its schema.
import { t } from '../text.js';

/** @type {Record<string, Entity>} */
export const entities = {
  contacts: {
    entity: 'contacts', title: t('Contacts'), one: t('contact'), path: '/contacts', list: '/v1/contacts/list', search: t('Search name, email, title'),
    columns: ['name', 'title', 'account_id', 'scoring.heat_score', 'tags', 'updated_at'], canExport: true,
    create: ['first_name', 'last_name', 'email', 'title', 'account_id', 'phone_number', 'notes'],
    empty: t('No contacts yet. Create one, or take them from a market.'), actions: ['campaign', 'audience', 'tag', 'delete'],
  },
  accounts: {
    entity: 'accounts', title: t('Accounts'), one: t('account'), path: '/accounts', list: '/v1/accounts/list', search: t('Search name, website, industry'),
    columns: ['name', 'industry', 'employee_count', 'country', 'website', 'tags', 'updated_at'], canExport: true,
    create: ['name', 'website', 'industry', 'employee_count', 'country', 'notes'],
    empty: t('No accounts yet. Create one, or import a market.'), actions: ['tag', 'delete'],
  },
  opportunities: {
    entity: 'opportunities', title: t('Opportunities'), one: t('opportunity'), path: '/opportunities', list: '/v1/opportunities/list', search: t('Search opportunities'),
    columns: ['name', 'stage', 'account_id', 'amount', 'close_date', 'owner_id', 'updated_at'], canExport: true,
    create: ['name', 'account_id', 'stage', 'amount', 'close_date', 'owner_id'], empty: t('No opportunities yet.'), actions: ['tag', 'delete'],
  },
  audiences: {
    entity: 'audiences', title: t('Audiences'), one: t('audience'), path: '/audiences', list: '/v1/audiences/list', search: t('Search audiences'),
    columns: ['name', 'contact_count', 'status', 'updated_at'], create: ['name'], empty: t('No audiences yet. An audience is a list of contacts for campaigns.'),
  },
  previews: {
    entity: 'previews', title: t('Previews'), one: t('Preview'), path: '/previews', list: '/v1/tam/previews/list', search: '',
    columns: ['created_at', 'status', 'companies', 'people', 'failure_reason'], empty: t('No Previews yet. Describe a market first.'),
  },
  companies: {
    entity: 'companies', title: t('Companies of the catalogue'), one: t('company'), path: '/catalogue/companies', list: '/v1/companies/list', search: t('Search companies'), href: '',
    columns: ['name', 'industry', 'employee_count', 'country', 'website', 'founded_year'], empty: t('The catalogue is empty. The operator fills it with: prospector catalog import.'),
  },
  people: {
    entity: 'people', title: t('People of the catalogue'), one: t('person'), path: '/catalogue/people', list: '/v1/people/list', search: t('Search people'), href: '',
    columns: ['name', 'title', 'seniority', 'department', 'company_id', 'location'], empty: t('The catalogue has no people.'),
  },
  campaigns: {
    entity: 'campaigns', title: t('Campaigns'), one: t('campaign'), path: '/campaigns', list: '/v1/campaigns/list', search: t('Search campaigns'),
    columns: ['name', 'status', 'template_name', 'audiences', 'owner_id', 'updated_at'], create: [],
    empty: t('No campaigns yet. A campaign sends a template to the people of an audience. Nothing is sent until you start it.'),
  },
  templates: {
    entity: 'sequence-templates', title: t('Templates'), one: t('template'), path: '/templates', list: '/v1/sequence-templates/list', search: t('Search templates'),
    columns: ['name', 'steps', 'description', 'owner_id', 'updated_at'], create: [], empty: t('No templates yet. A template is the sequence of emails, calls and tasks that a campaign goes through.'),
  },
  outbox: {
    entity: 'outbox', title: t('Outbox'), one: t('message'), path: '/outbox', list: '/v1/outbox/list', search: t('Search messages'), canExport: true,
    columns: ['subject', 'to', 'status', 'created_at', 'campaign_id', 'error'], empty: t('Nothing was sent yet. Start a campaign.'),
    quick: [[t('All'), ''], [t('Captured'), 'f=status:is:captured'], [t('Sent'), 'f=status:is:sent'], [t('Failed'), 'f=status:is:failed']],
  },
  tasks: {
    entity: 'tasks', title: t('Tasks'), one: t('task'), path: '/tasks', list: '/v1/tasks/list', search: t('Search tasks'),
    columns: ['title', 'status', 'due_at', 'contact_id', 'account_id', 'owner_id'], sort: 'due_at', canExport: true,
    create: ['title', 'type', 'due_at', 'contact_id', 'account_id', 'owner_id', 'notes'], empty: t('No tasks. Campaigns with calls make some.'), actions: ['done', 'delete'],
    quick: [[t('Open'), 'f=status:is:open'], [t('Due today'), 'f=status:is:open&f=due_at:is_before:{tomorrow}'], [t('Completed'), 'f=status:is:completed'], [t('All'), '']],
  },
  meetings: {
    entity: 'meetings', title: t('Meetings'), one: t('meeting'), path: '/meetings', list: '/v1/meetings/list', search: t('Search meetings'),
    columns: ['title', 'starts_at', 'status', 'contact_id', 'account_id', 'owner_id'], sort: '-starts_at', canExport: true,
    create: ['title', 'starts_at', 'contact_id', 'account_id', 'notes'], empty: t('No meetings yet.'), actions: ['delete'],
    quick: [[t('All'), ''], [t('Today'), 'f=starts_at:is_after:{today}&f=starts_at:is_before:{tomorrow}'], [t('Scheduled'), 'f=status:is:scheduled']],
  },
};

/** The parts of the settings. */
export const sections = [['organization', t('Organization')], ['users', t('Users')], ['keys', t('API keys')], ['fields', t('Fields')], ['tags', t('Tags')],
  ['suppressions', t('Suppressions')], ['webhooks', t('Webhooks')], ['me', t('Password and sessions')]];
