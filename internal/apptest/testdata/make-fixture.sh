#!/usr/bin/env bash
# make-fixture.sh PROSPECTOR OUT: fill an empty data directory with the given program and write a backup of it and the API
# keys of its organizations to OUT.backup and OUT.keys.
set -euo pipefail
program=$1 out=$2
work=$(mktemp -d)
server=
trap 'kill "$server" 2>/dev/null || true; rm -r "$work"' EXIT
export PROSPECTOR_ADDR=127.0.0.1:18099 PROSPECTOR_SEQUENCES_SPEED=7200 PROSPECTOR_RATE_LIMIT_PER_MINUTE=100000
run() { "$program" --data-dir "$work/data" "$@"; }

run org create --name "Acme Sales" >&2
run org create --name "Globex" >&2
run user create --org "Acme Sales" --email ada@acme.example --first-name Ada --last-name Marsh >&2
run user create --org "Acme Sales" --email bob@acme.example --first-name Bob >&2
run user create --org "Globex" --email gil@globex.example --first-name Gil >&2
key() { run key create --org "$1" --name fixture --access admin --json | grep -o '"key": *"[^"]*' | cut -d'"' -f4; }
acme=$(key "Acme Sales") globex=$(key "Globex")
run catalog generate --companies 40 --people-per-company 2 >&2
"$program" --data-dir "$work/data" serve >&2 &
server=$!
for _ in $(seq 100); do curl -sf "http://$PROSPECTOR_ADDR/readyz" >/dev/null && break; sleep 0.1; done

KEY=$acme
call() { # METHOD PATH BODY
  local answer
  answer=$(curl -s -X "$1" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "http://$PROSPECTOR_ADDR$2" ${3:+-d "$3"})
  case $answer in '{"error":'*) echo "$1 $2 $3: $answer" >&2; exit 1 ;; esac
  printf '%s' "$answer"
}
post() { call POST "$1" "$2"; }
id() { grep -o "\"$1\":\"[^\"]*" | head -1 | cut -d'"' -f4; }

tag=$(post /v1/tags '{"name": "Champion", "color": "green", "object_type": "contact"}' | id id)
post /v1/tags '{"name": "Target", "color": "red", "object_type": "account"}' >/dev/null
post /v1/fields '{"entity": "contacts", "key": "tier", "label": "Tier", "data_type": "enum", "allowed_values": ["gold", "silver"]}' >/dev/null
post /v1/fields '{"entity": "accounts", "key": "revenue", "label": "Revenue", "data_type": "number"}' >/dev/null
field=$(post /v1/fields '{"entity": "accounts", "key": "products", "data_type": "multi_select", "allowed_values": ["Salesforce", "SAP"], "ai": {"question": "Which of these does it use?", "field": "technologies"}}' | id id)
account=$(post /v1/accounts '{"name": "Initech", "website": "initech.example", "employee_count": 250, "custom_field_revenue": 12.5}' | id id)
post /v1/accounts '{"name": "Umbrella", "notes": "Met at the fair."}' >/dev/null
bill=$(post /v1/contacts '{"account_id": "'"$account"'", "first_name": "Bill", "last_name": "Lumbergh", "email": "bill@initech.example", "title": "VP Operations", "tags": ["'"$tag"'"], "custom_field_tier": "gold"}' | id id)
peter=$(post /v1/contacts '{"account_id": "'"$account"'", "first_name": "Peter", "email": "peter@initech.example", "scoring": {"heat_score": "hot"}}' | id id)
post /v1/contacts '{"first_name": "Milton", "last_name": "Waddams", "email": "milton@initech.example", "do_not_contact": true}' >/dev/null
post /v1/opportunities '{"name": "Cover sheets", "account_id": "'"$account"'", "amount": 4000}' >/dev/null
post /v1/tasks '{"title": "Call Bill", "contact_id": "'"$bill"'", "type": "call"}' >/dev/null
post /v1/meetings '{"title": "Demo", "contact_id": "'"$bill"'", "starts_at": "2026-03-02T10:00:00Z"}' >/dev/null
post /v1/account-views '{"name": "Large", "filtering_rules": {"filters": [{"field": "employee_count", "condition": "greater_than", "value": 100}]}}' >/dev/null
post /v1/suppressions '{"domain": "blocked.example"}' >/dev/null
post /v1/webhooks/subscriptions '{"url": "https://hooks.example/in", "triggers": ["contact.created"], "status": "paused"}' >/dev/null

preview=$(post /v1/tam/preview '{"request_id": "7b0f6c5e-3a54-4f43-9a77-0d6f7a4a5a10", "company_filters": {"filtering_rules": {"filters": [{"field": "employee_count", "condition": "greater_than", "value": 10}]}}, "contact_filters": {"include_keywords": ["vp", "head of", "chief"]}, "qualifier_signal_id": "'"$field"'", "qualifier_rule": {"operator": "contains", "value": "SAP"}}' | id preview_id)
for _ in $(seq 100); do call GET "/v1/tam/preview/$preview" '' | grep -q '"status":"READY"' && break; sleep 0.1; done
import=$(post "/v1/tam/preview/$preview/import" '' | id operation_id)
for _ in $(seq 100); do call GET "/v1/tam/imports/$import" '' | grep -q '"status":"completed"' && break; sleep 0.1; done

audience=$(post /v1/audiences '{"name": "Initech"}' | id id)
post "/v1/audiences/$audience/contacts/add" '{"contact_ids": ["'"$bill"'", "'"$peter"'"]}' >/dev/null
template=$(post /v1/sequence-templates '{"name": "Reports", "steps": [
  {"index": 0, "type": "auto_email", "day": 0, "hour": 9, "subject": "Reports at {{recipient.company}}", "message": "Hello {{recipient.first_name}},\n\n[[block:offer]]"},
  {"index": 1, "type": "call", "hour": 14, "message": "Ask about the reports."}],
 "transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 2, "pre_check_time_unit": "business_days"}],
 "blocks": {"offer": {"name": "Offer", "content": "we write the cover sheets for you."}}}' | id id)
campaign=$(post /v1/campaigns '{"name": "Cover sheets", "template_id": "'"$template"'", "audience_ids": ["'"$audience"'"]}' | id id)
call PATCH "/v1/campaigns/$campaign" '{"status": "active"}' >/dev/null
for _ in $(seq 300); do post /v1/outbox/list '{}' | grep -q '"status":"sent"' && break; sleep 0.1; done

KEY=$globex
post /v1/contacts '{"first_name": "Homer", "email": "homer@globex.example"}' >/dev/null
kill "$server"
wait "$server" || true
run backup "$out.backup" >&2
printf 'Acme Sales %s\nGlobex %s\n' "$acme" "$globex" > "$out.keys"
