// The types that the modules of the console share. Only the type checker reads this file.

// The records of the API. make check-console generates api.d.ts from /openapi.json.
type API = import('./api').components['schemas'];
type Paths = import('./api').paths;

// A path with parameters as the type of a template literal: /v1/campaigns/${string}.
type Pattern<P extends string> = P extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Pattern<After>}`
  : P;
type WithoutQuery<P extends string> = P extends `${infer Path}?${string}` ? Path : P;
type Success<O> = O extends { responses: infer R }
  ? R[Extract<keyof R, 200 | 201 | 202>] extends { content: { 'application/json': infer Body } }
    ? Body
    : never
  : never;
// What an operation answers, by its method and path. A path that is put together elsewhere is not known.
type Answer<Method extends string, P extends string> = string extends P
  ? never
  : KnownAnswer<Method, P>;
type KnownAnswer<Method extends string, P extends string> = {
  [K in keyof Paths & string]: WithoutQuery<P> extends Pattern<K>
    ? Pattern<K> extends WithoutQuery<P>
      ? Method extends keyof Paths[K]
        ? Success<Paths[K][Method]>
        : never
      : never
    : never;
}[keyof Paths & string];
// What operations answer whose paths have the same end, such as /v1/${string}/bulk. Too many have the
// end of /v1/${string} or /v1/${string}/list.
type SomeAnswer<Method extends string, P extends string> = '/v1/any/list' extends P
  ? never
  : {
      [K in keyof Paths & string]: Pattern<K> extends WithoutQuery<P>
        ? Method extends keyof Paths[K]
          ? Success<Paths[K][Method]>
          : never
        : never;
    }[keyof Paths & string];
type Best<Method extends string, P extends string> = [Answer<Method, P>] extends [never]
  ? SomeAnswer<Method, P>
  : Answer<Method, P>;
type DataOf<Body> = [Body] extends [never] ? Item : Body extends { data: infer Data } ? Data : Item;

type PageOf<Body> = [Body] extends [never] ? Page : Body extends { data: unknown[] } ? Body : Page;

// An operation, and whether the undo of it was undone, which readUndone finds out.
type Operation = API['Operation'] & { isBack?: boolean };
type Campaign = API['Campaign'];
type HeldCampaign = Campaign & { held: NonNullable<Campaign['held']> };

// A record of which only the schema knows the fields: the pages of lists and records show any kind.
type Item = { id: string; [field: string]: unknown };
type Detail = { path: string; message: string; id?: string };
type Pagination = { page: number; page_size: number; total_count: number; total_pages: number };
type Page<R = Item> = {
  data: R[];
  pagination: Pagination;
  meta: { timestamp: string; damaged?: number };
};
type Option = { value: string; label: string };
// A field of a schema. options are the names of its values, if it refers to records.
type Field = Omit<API['SchemaField'], 'type' | 'conditions'> & {
  type: string;
  conditions: string[];
  reference?: string | null;
  options?: Option[];
};
type Schema = { entity: string; default_sort: string; fields: Field[] };

// A request: key makes a repeated POST harmless, match is the ETag that a PATCH expects, quiet leaves
// failures that the console could wait for or sign in for to the caller, and is a request of whoever is signed in.
type RequestOptions = { signal?: AbortSignal; key?: string; match?: string; quiet?: boolean };

// The state of a list in its URL.
type Rule = { field: string; condition: string; value?: unknown };
// Rules and groups of rules, of which all must hold, or any.
type Group = { operator?: string; filters: Filter[] };
type Filter = Rule | Group;
type View = {
  q: string;
  rules: Rule[];
  where: Group | null;
  sort: string;
  page: number;
  cols: string[];
  unknown?: string[];
};

type Template = { strings: TemplateStringsArray; values: unknown[]; isSVG?: boolean };
type Keyed = { keys: unknown[]; items: unknown[] };
// What a hole of a template can have. A function is the handler of an event.
type Hole = ((event: any) => unknown) | {} | null | undefined;

// The address of a page, and the first row that its table had when it was left.
type Params = { path: string; row?: number; args: Record<string, string>; search: URLSearchParams };
type Keys = Record<string, (event: KeyboardEvent) => void>;
// A page: load returns its model, view renders it, close ends what load began. A model with isDirty
// is left only after a question.
type PageModule<M> = {
  title: (model: M) => string;
  load: (params: Params, signal: AbortSignal, previous?: M) => Promise<M>;
  view: (model: M) => unknown;
  keys?: (model: M) => Keys;
  actions?: (model: M) => Action[];
  close?: (model: M) => void;
};
// What the router knows of the model of whatever page.
type PageModel = { isDirty?: boolean; table?: { first: number } | null };
// Each page has a model of its own, which only the page itself looks into.
type Route = [pattern: string, load: () => Promise<PageModule<any>>];
type Action = { label: string; act: () => unknown };

// The values of a form, by the names of its fields. What they are depends on the inputs.
type Values = Record<string, any>;
type FormState = import('./web/js/components/dialog.js').FormState;
// What a field needs of a form.
type FormPart = Pick<FormState, 'values' | 'errors' | 'set'>;
type FieldOptions = {
  name: string;
  label?: string;
  type?: string;
  help?: unknown;
  options?: Option[];
  required?: boolean;
  rows?: number;
  reference?: string | null;
  placeholder?: string;
  autocomplete?: string;
};
type ControlOptions = FieldOptions & {
  suggestions?: Option[];
  id: string;
  value: unknown;
  set: (value: unknown) => void;
  error?: string;
};

// A table of records, which have the type R.
type Column<R = Item> = {
  key: string;
  label: string;
  width: number;
  number?: boolean;
  sortable?: boolean;
  view: (record: R, row: number) => unknown;
};
type TableOptions<R = Item> = {
  label: string;
  columns: Column<R>[];
  fetch: (page: number, size: number, signal: AbortSignal) => Promise<Page<R>>;
  href?: (record: R) => string;
  onOpen?: (record: R) => void; // for rows without an address
  selectable?: boolean;
  sort?: string;
  onSort?: (key: string) => void;
  onColumns?: (columns: Column<R>[]) => void;
  onLoad?: (page: Page<R>) => unknown;
  onSelect?: () => void;
  onCursor?: (record: R | undefined) => void;
  empty?: () => unknown;
  first?: number;
};

// What the console needs to know of an entity beyond its schema.
type Entity = {
  entity: string;
  title: string;
  one: string;
  path: string;
  list: string;
  columns: string[];
  search: string;
  sort?: string;
  create?: string[];
  empty: string;
  canExport?: boolean;
  canCount?: boolean; // the values of fields can be counted, also without actions
  actions?: string[];
  links?: [string, string][];
  href?: ''; // the records have no page
  quick?: [string, string][]; // often used views: a label and the query of the URL
};

// What a user has chosen, by name. The service keeps whatever the console puts there.
type Preferences = {
  columns?: Record<string, { key: string; width: number }[]>; // of lists, by entity
  keys_off?: boolean;
  [name: string]: unknown;
};

declare var trustedTypes:
  | {
      createPolicy(
        name: string,
        rules: { createHTML(s: string): string },
      ): { createHTML(s: string): unknown };
    }
  | undefined;
