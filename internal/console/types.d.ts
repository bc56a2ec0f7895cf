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
type DataOf<Body> = [Body] extends [never] ? Item : Body extends { data: infer Data } ? Data : Item;

type PageOf<Body> = [Body] extends [never] ? Page : Body extends { data: unknown[] } ? Body : Page;

// An operation, and whether the undo of it was undone, which readUndone finds out.
type Operation = API['Operation'] & { isBack?: boolean };
type Campaign = API['Campaign'];
type HeldCampaign = Campaign & { held: NonNullable<Campaign['held']> };

// A record of which only the schema knows the fields.
type Item = Record<string, any>;
type Detail = { path: string; message: string; id?: string };
type Pagination = { page: number; page_size: number; total_count: number; total_pages: number };
type Page = {
  data: Item[];
  pagination: Pagination;
  summary?: any;
  meta: { timestamp: string; damaged?: number };
};
type Field = {
  key: string;
  label: string;
  type: string;
  read_only: boolean;
  custom: boolean;
  sortable: boolean;
  filterable: boolean;
  conditions: string[];
  reference?: string | null;
  enum_field_settings: any;
  options?: { value: string; label: string }[];
};
type Schema = { entity: string; default_sort: string; fields: Field[] };

// A request: key makes a repeated POST harmless, match is the ETag that a PATCH expects, quiet leaves
// failures that the console could wait for or sign in for to the caller, and is a request of whoever is signed in.
type RequestOptions = { signal?: AbortSignal; key?: string; match?: string; quiet?: boolean };

// The state of a list in its URL.
type Rule = { field: string; condition: string; value?: any };
type View = {
  q: string;
  rules: Rule[];
  where: any;
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
type PageModule = {
  title: (model: any) => string;
  load: (params: Params, signal: AbortSignal, previous?: any) => Promise<any>;
  view: (model: any) => unknown;
  keys?: (model: any) => Keys;
  actions?: (model: any) => Action[];
  close?: (model: any) => void;
};
type Route = [pattern: string, load: () => Promise<PageModule>];
type Action = { label: string; act: () => unknown };

type FormState = import('./web/js/components/dialog.js').FormState;
type FieldOptions = {
  name: string;
  label?: string;
  type?: string;
  help?: unknown;
  options?: { value: string; label: string }[];
  required?: boolean;
  rows?: number;
  reference?: string | null;
  placeholder?: string;
  autocomplete?: string;
};
type ControlOptions = FieldOptions & {
  suggestions?: { value: string; label: string }[];
  id: string;
  value: any;
  set: (value: any) => void;
  error?: string;
};

type Column = {
  key: string;
  label: string;
  width: number;
  number?: boolean;
  sortable?: boolean;
  view: (record: any, row: number) => unknown;
};
type TableOptions = {
  label: string;
  columns: Column[];
  fetch: (page: number, size: number, signal: AbortSignal) => Promise<Page>;
  href?: (record: any) => string;
  onOpen?: (record: any) => void; // for rows without an address
  selectable?: boolean;
  sort?: string;
  onSort?: (key: string) => void;
  onColumns?: (columns: Column[]) => void;
  onLoad?: (page: Page) => unknown;
  onSelect?: () => void;
  onCursor?: (record: any) => void;
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

type Me = {
  user_id: string;
  user_email: string;
  user_first_name: string | null;
  user_last_name: string | null;
  org_id: string;
  org_name: string;
  access: 'read' | 'write' | 'admin';
};

declare var trustedTypes:
  | {
      createPolicy(
        name: string,
        rules: { createHTML(s: string): string },
      ): { createHTML(s: string): any };
    }
  | undefined;
