// This is compiled with the types that openapi-typescript generates from the API document.
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const client = createClient<paths>({
  baseUrl: process.env.CLIENT_URL!,
  headers: { Authorization: `Bearer ${process.env.CLIENT_KEY}` },
});

// Fields with a default are optional.
const minimal: components["schemas"]["ContactCreate"] = { email: "bob@initech.example" };
const direction: components["schemas"]["SortingRule"] = { field: "email" };
ok(direction.direction === undefined);
const bob = await client.POST("/v1/contacts", { body: minimal });
strictEqual(bob.data?.data.source, "api");

const created = await client.POST("/v1/contacts", {
  params: { header: { "Idempotency-Key": "typescript" } },
  body: { email: "peter@initech.example", last_name: "Gibbons", source: "csv", scoring: { heat_score: "hot" } },
});
ok(created.data, JSON.stringify(created.error));
const peter = created.data.data;
const etag = created.response.headers.get("ETag");
ok(etag);

const updated = await client.PATCH("/v1/contacts/{id}", {
  params: { path: { id: peter.id }, header: { "If-Match": etag } },
  body: { title: "Engineer", scoring: { heat_score: null } },
});
strictEqual(updated.data?.data.title, "Engineer");
strictEqual(updated.data.data.scoring.heat_score, null);

const all = await client.POST("/v1/contacts/list", { body: {} });
strictEqual(all.data?.pagination.page_size, 50);

const found = await client.POST("/v1/contacts/list", {
  body: {
    filters: { filters: [{ field: "email", condition: "is", value: ["peter@initech.example", "bob@initech.example"] }] },
    sort: "email",
    page_size: 1,
  },
});
deepStrictEqual(found.data?.data.map((contact) => contact.email), ["bob@initech.example"]);
strictEqual(found.data.pagination.total_count, 2);

const refused = await client.POST("/v1/contacts/list", { body: { sort: "shoe_size" } });
strictEqual(refused.response.status, 422);
ok(refused.error && "error" in refused.error);
strictEqual(refused.error.error.code, "invalid_sort");

// @ts-expect-error: an enum does not contain the empty string
const invalid: components["schemas"]["ContactCreate"]["source"] = "";
void invalid;
