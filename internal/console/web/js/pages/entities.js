// @ts-check
// What the console needs to know of each entity beyond its schema.

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
  search: `Search ${title.toLowerCase()}`,
  ...more,
});

/** @type {[string, string][]} */
const catalog = [
  ['Companies', '/catalog/companies'],
  ['People', '/catalog/people'],
];

/** @type {Record<string, Entity>} */
export const entities = {
  contacts: kind(
    'contacts',
    'Contacts',
    'contact',
    ['name', 'title', 'account_id', 'scoring.heat_score', 'tags', 'updated_at'],
    'No contacts yet. Import a file, create one, or take them from a market.',
    {
      search: 'Search name, email, title',
      canExport: true,
      create: ['first_name', 'last_name', 'email', 'title', 'account_id', 'phone_number', 'notes'],
      actions: ['campaign', 'audience', 'tag', 'edit', 'merge', 'delete'],
      links: [['Import…', '/imports/new?entity=contacts']],
    },
  ),
  accounts: kind(
    'accounts',
    'Accounts',
    'account',
    ['name', 'industry', 'employee_count', 'country', 'website', 'tags', 'updated_at'],
    'No accounts yet. Import a file, create one, or import a market.',
    {
      search: 'Search name, website, industry',
      canExport: true,
      create: ['name', 'website', 'industry', 'employee_count', 'country', 'notes'],
      actions: ['tag', 'edit', 'merge', 'delete'],
      links: [['Import…', '/imports/new?entity=accounts']],
    },
  ),
  opportunities: kind(
    'opportunities',
    'Opportunities',
    'opportunity',
    ['name', 'stage', 'account_id', 'amount', 'close_date', 'owner_id', 'updated_at'],
    'No opportunities yet.',
    {
      canExport: true,
      create: ['name', 'account_id', 'stage', 'amount', 'close_date', 'owner_id'],
      actions: ['tag', 'edit', 'delete'],
    },
  ),
  audiences: kind(
    'audiences',
    'Audiences',
    'audience',
    ['name', 'contact_count', 'type', 'status', 'updated_at'],
    'No audiences yet. An audience is a list of contacts for campaigns.',
    { create: [] },
  ),
  previews: kind(
    'previews',
    'Previews',
    'Preview',
    ['market', 'created_at', 'status', 'companies', 'people'],
    'No Previews yet. Describe a market first.',
    { list: '/v1/tam/previews/list', search: '', links: [['New market', '/market']] },
  ),
  imports: kind(
    'imports',
    'Imports',
    'import',
    ['created_at', 'file_name', 'entity', 'status', 'rows', 'added', 'updated', 'skipped'],
    'No imports yet. Bring your contacts or accounts as a CSV file.',
    {
      search: '',
      links: [['Import a file', '/imports/new']],
      quick: [
        ['Imports', 'f=dry_run:is:false'],
        ['All', ''],
      ],
    },
  ),
  companies: kind(
    'companies',
    'Companies of the catalog',
    'company',
    ['name', 'industry', 'employee_count', 'country', 'website', 'founded_year'],
    'The catalog is empty. The operator fills it with: prospector catalog import.',
    {
      path: '/catalog/companies',
      search: 'Search companies',
      href: '',
      quick: catalog,
    },
  ),
  people: kind(
    'people',
    'People of the catalog',
    'person',
    ['name', 'title', 'seniority', 'department', 'company_id', 'location'],
    'The catalog has no people.',
    { path: '/catalog/people', search: 'Search people', href: '', quick: catalog },
  ),
  campaigns: kind(
    'campaigns',
    'Campaigns',
    'campaign',
    ['name', 'status', 'template_name', 'audiences', 'owner_id', 'updated_at'],
    'No campaigns yet. A campaign sends a template to the people of an audience. Nothing is sent until you start it.',
    { create: [] },
  ),
  templates: kind(
    'sequence-templates',
    'Templates',
    'template',
    ['name', 'steps', 'description', 'owner_id', 'updated_at'],
    'No templates yet. A template is the emails, calls and tasks of a campaign.',
    { path: '/templates', create: [] },
  ),
  outbox: kind(
    'outbox',
    'Outbox',
    'message',
    ['subject', 'status', 'to', 'created_at', 'campaign_id', 'error'],
    'Nothing was sent yet. Start a campaign.',
    {
      canExport: true,
      quick: [
        ['All', ''],
        ['Captured', 'f=status:is:captured'],
        ['Sent', 'f=status:is:sent'],
        ['Failed', 'f=status:is:failed'],
      ],
    },
  ),
  deliveries: kind(
    'webhook-deliveries',
    'Deliveries',
    'delivery',
    ['created_at', 'trigger_key', 'status', 'attempt', 'response_code', 'error', 'duration_ms'],
    'Nothing was delivered yet.',
    {
      path: '/settings/webhooks/deliveries',
      href: '',
      canExport: true,
      canCount: true,
      quick: [
        ['All', ''],
        ['Failed', 'f=status:is:failed'],
      ],
    },
  ),
  tasks: kind(
    'tasks',
    'Tasks',
    'task',
    ['title', 'status', 'due_at', 'contact_id', 'account_id', 'owner_id'],
    'No tasks. Campaigns with calls make some.',
    {
      sort: 'due_at',
      canExport: true,
      create: ['title', 'type', 'due_at', 'contact_id', 'account_id', 'owner_id', 'notes'],
      actions: ['done', 'tag', 'edit', 'delete'],
      quick: [
        ['Open', 'f=status:is:open'],
        ['Due today', 'f=status:is:open&f=due_at:is_before:{tomorrow}'],
        ['Completed', 'f=status:is:completed'],
        ['All', ''],
      ],
    },
  ),
  meetings: kind(
    'meetings',
    'Meetings',
    'meeting',
    ['title', 'starts_at', 'status', 'contact_id', 'account_id', 'owner_id'],
    'No meetings yet.',
    {
      sort: '-starts_at',
      canExport: true,
      create: ['title', 'starts_at', 'contact_id', 'account_id', 'notes'],
      actions: ['tag', 'edit', 'delete'],
      quick: [
        ['All', ''],
        ['Today', 'f=starts_at:is_after:{today}&f=starts_at:is_before:{tomorrow}'],
        ['Scheduled', 'f=status:is:scheduled'],
      ],
    },
  ),
};

/** Kinds of records that have no list page of their own. @type {Record<string, Entity>} */
const others = {
  tags: kind('tags', 'Tags', 'tag', [], '', { path: '/settings/tags' }),
  fields: kind('fields', 'Fields', 'field', [], '', { path: '/settings/fields' }),
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

/** The tags of a kind of record. @param {string} entity @param {API['Tag'][]} all */
export const tagsFor = (entity, all) =>
  all.filter(
    (tag) => tag.object_type === (entity === 'opportunities' ? 'opportunity' : entity.slice(0, -1)),
  );

/**
 * Adds the names of the tags to a schema.
 * @param {Schema} schema
 * @param {API['Tag'][]} all
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
  key
    .split('.')
    .reduce(
      (value, part) => /** @type {Record<string, unknown> | null | undefined} */ (value)?.[part],
      /** @type {unknown} */ (record),
    );

/** The parts of the settings. */
export const sections = [
  ['organization', 'Organization'],
  ['users', 'Users'],
  ['keys', 'API keys'],
  ['fields', 'Fields'],
  ['tags', 'Tags'],
  ['suppressions', 'Suppressions'],
  ['webhooks', 'Webhooks'],
  ['mail', 'Mail'],
  ['erasure', 'Erasure'],
  ['trash', 'Trash'],
  ['me', 'Password and sessions'],
];
