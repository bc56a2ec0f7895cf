// @ts-check
// What the console needs to know of each entity beyond its schema.
import { t } from '../text.js';

/**
 * @param {string} entity
 * @param {string} title
 * @param {string} one
 * @param {string[]} columns
 * @param {string} empty
 * @param {Partial<Entity>} more
 * @returns {Entity}
 */
const kind = (entity, title, one, columns, empty, more) => ({
  entity,
  title,
  one,
  columns,
  empty,
  path: `/${entity}`,
  list: `/v1/${entity}/list`,
  search: t('Search {title}', { title: title.toLowerCase() }),
  ...more,
});

/** @type {[string, string][]} */
const catalogue = [
  [t('Companies'), '/catalogue/companies'],
  [t('People'), '/catalogue/people'],
];

/** @type {Record<string, Entity>} */
export const entities = {
  contacts: kind(
    'contacts',
    t('Contacts'),
    t('contact'),
    ['name', 'title', 'account_id', 'scoring.heat_score', 'tags', 'updated_at'],
    t('No contacts yet. Import a file, create one, or take them from a market.'),
    {
      search: t('Search name, email, title'),
      canExport: true,
      create: ['first_name', 'last_name', 'email', 'title', 'account_id', 'phone_number', 'notes'],
      actions: ['campaign', 'audience', 'tag', 'edit', 'merge', 'delete'],
      links: [[t('Import…'), '/imports/new?entity=contacts']],
    },
  ),
  accounts: kind(
    'accounts',
    t('Accounts'),
    t('account'),
    ['name', 'industry', 'employee_count', 'country', 'website', 'tags', 'updated_at'],
    t('No accounts yet. Import a file, create one, or import a market.'),
    {
      search: t('Search name, website, industry'),
      canExport: true,
      create: ['name', 'website', 'industry', 'employee_count', 'country', 'notes'],
      actions: ['tag', 'edit', 'merge', 'delete'],
      links: [[t('Import…'), '/imports/new?entity=accounts']],
    },
  ),
  opportunities: kind(
    'opportunities',
    t('Opportunities'),
    t('opportunity'),
    ['name', 'stage', 'account_id', 'amount', 'close_date', 'owner_id', 'updated_at'],
    t('No opportunities yet.'),
    {
      canExport: true,
      create: ['name', 'account_id', 'stage', 'amount', 'close_date', 'owner_id'],
      actions: ['tag', 'edit', 'delete'],
    },
  ),
  audiences: kind(
    'audiences',
    t('Audiences'),
    t('audience'),
    ['name', 'contact_count', 'type', 'status', 'updated_at'],
    t('No audiences yet. An audience is a list of contacts for campaigns.'),
    { create: [] },
  ),
  previews: kind(
    'previews',
    t('Previews'),
    t('Preview'),
    ['market', 'created_at', 'status', 'companies', 'people'],
    t('No Previews yet. Describe a market first.'),
    { list: '/v1/tam/previews/list', search: '', links: [[t('New market'), '/market']] },
  ),
  imports: kind(
    'imports',
    t('Imports'),
    t('import'),
    ['created_at', 'file_name', 'entity', 'status', 'rows', 'added', 'updated', 'skipped'],
    t('No imports yet. Bring your contacts or accounts as a CSV file.'),
    {
      search: '',
      links: [[t('Import a file'), '/imports/new']],
      quick: [
        [t('Imports'), 'f=dry_run:is:false'],
        [t('All'), ''],
      ],
    },
  ),
  companies: kind(
    'companies',
    t('Companies of the catalogue'),
    t('company'),
    ['name', 'industry', 'employee_count', 'country', 'website', 'founded_year'],
    t('The catalogue is empty. The operator fills it with: prospector catalog import.'),
    {
      path: '/catalogue/companies',
      search: t('Search companies'),
      href: '',
      quick: catalogue,
    },
  ),
  people: kind(
    'people',
    t('People of the catalogue'),
    t('person'),
    ['name', 'title', 'seniority', 'department', 'company_id', 'location'],
    t('The catalogue has no people.'),
    { path: '/catalogue/people', search: t('Search people'), href: '', quick: catalogue },
  ),
  campaigns: kind(
    'campaigns',
    t('Campaigns'),
    t('campaign'),
    ['name', 'status', 'template_name', 'audiences', 'owner_id', 'updated_at'],
    t(
      'No campaigns yet. A campaign sends a template to the people of an audience. Nothing is sent until you start it.',
    ),
    { create: [] },
  ),
  templates: kind(
    'sequence-templates',
    t('Templates'),
    t('template'),
    ['name', 'steps', 'description', 'owner_id', 'updated_at'],
    t('No templates yet. A template is the emails, calls and tasks of a campaign.'),
    { path: '/templates', create: [] },
  ),
  outbox: kind(
    'outbox',
    t('Outbox'),
    t('message'),
    ['subject', 'status', 'to', 'created_at', 'campaign_id', 'error'],
    t('Nothing was sent yet. Start a campaign.'),
    {
      canExport: true,
      quick: [
        [t('All'), ''],
        [t('Captured'), 'f=status:is:captured'],
        [t('Sent'), 'f=status:is:sent'],
        [t('Failed'), 'f=status:is:failed'],
      ],
    },
  ),
  tasks: kind(
    'tasks',
    t('Tasks'),
    t('task'),
    ['title', 'status', 'due_at', 'contact_id', 'account_id', 'owner_id'],
    t('No tasks. Campaigns with calls make some.'),
    {
      sort: 'due_at',
      canExport: true,
      create: ['title', 'type', 'due_at', 'contact_id', 'account_id', 'owner_id', 'notes'],
      actions: ['done', 'tag', 'edit', 'delete'],
      quick: [
        [t('Open'), 'f=status:is:open'],
        [t('Due today'), 'f=status:is:open&f=due_at:is_before:{tomorrow}'],
        [t('Completed'), 'f=status:is:completed'],
        [t('All'), ''],
      ],
    },
  ),
  meetings: kind(
    'meetings',
    t('Meetings'),
    t('meeting'),
    ['title', 'starts_at', 'status', 'contact_id', 'account_id', 'owner_id'],
    t('No meetings yet.'),
    {
      sort: '-starts_at',
      canExport: true,
      create: ['title', 'starts_at', 'contact_id', 'account_id', 'notes'],
      actions: ['tag', 'edit', 'delete'],
      quick: [
        [t('All'), ''],
        [t('Today'), 'f=starts_at:is_after:{today}&f=starts_at:is_before:{tomorrow}'],
        [t('Scheduled'), 'f=status:is:scheduled'],
      ],
    },
  ),
};

/** Kinds of records that have no list page of their own. @type {Record<string, Entity>} */
const others = {
  tags: kind('tags', t('Tags'), t('tag'), [], '', { path: '/settings/tags' }),
  fields: kind('fields', t('Fields'), t('field'), [], '', { path: '/settings/fields' }),
  'sequence-templates': entities.templates,
};

/**
 * The kind of the records of an entity, if the console knows it.
 * @param {string} entity
 * @returns {Entity | undefined}
 */
export const kindOf = (entity) => entities[entity] || others[entity];

/** What one and several records are called. @param {Entity} of */
export const namesOf = (of) => ({ kind: of.one, title: of.title.toLowerCase() });

/** The tags of a kind of record. @param {string} entity @param {Item[]} all */
export const tagsFor = (entity, all) =>
  all.filter(
    (tag) => tag.object_type === (entity === 'opportunities' ? 'opportunity' : entity.slice(0, -1)),
  );

/**
 * Adds the names of the tags to a schema.
 * @param {Schema} schema
 * @param {Item[]} all
 * @returns {Schema}
 */
export function withTags(schema, all) {
  const field = schema.fields.find((f) => f.key === 'tags');
  if (field)
    field.options = tagsFor(schema.entity, all).map((tag) => ({ value: tag.id, label: tag.name }));
  return schema;
}

/** The value of a field, whose key may be a path. @param {Item} record @param {string} key */
export const valueAt = (record, key) =>
  key.split('.').reduce((/** @type {any} */ value, part) => value?.[part], record);

/** The parts of the settings. */
export const sections = [
  ['organization', t('Organization')],
  ['users', t('Users')],
  ['keys', t('API keys')],
  ['fields', t('Fields')],
  ['tags', t('Tags')],
  ['suppressions', t('Suppressions')],
  ['webhooks', t('Webhooks')],
  ['mail', t('Mail')],
  ['erasure', t('Erasure')],
  ['trash', t('Trash')],
  ['me', t('Password and sessions')],
];
