#!/usr/bin/env bash
# make-suppression-fixture.sh PROSPECTOR OUT: like make-fixture.sh, with one organization that has suppressions of
# addresses that newer builds take for domains, a contact whose address looks like one, and a running campaign.
set -euo pipefail
program=$1 out=$2
work=$(mktemp -d)
server=
trap 'kill "$server" 2>/dev/null || true; rm -r "$work"' EXIT
export PROSPECTOR_ADDR=127.0.0.1:18095 PROSPECTOR_RATE_LIMIT_PER_MINUTE=100000
run() { "$program" --data-dir "$work/data" "$@"; }

run org create --name "Acme Sales" >&2
run user create --org "Acme Sales" --email ada@acme.example --first-name Ada >&2
acme=$(run key create --org "Acme Sales" --name fixture --access admin --json | grep -o '"key": *"[^"]*' | cut -d'"' -f4)
"$program" --data-dir "$work/data" serve >&2 &
server=$!
for _ in $(seq 600); do curl -sf "http://$PROSPECTOR_ADDR/readyz" >/dev/null && break; sleep 0.1; done
post() {
  local answer
  answer=$(curl -s -H "Authorization: Bearer $acme" -H 'Content-Type: application/json' "http://$PROSPECTOR_ADDR$1" -d "$2")
  case $answer in '{"error":'*) echo "$1 $2: $answer" >&2; exit 1 ;; esac
  printf '%s' "$answer"
}
id() { grep -o "\"$1\":\"[^\"]*" | head -1 | cut -d'"' -f4; }

post /v1/suppressions '{"email": "*@Globex.example", "reason": "asked us to"}' >/dev/null
post /v1/suppressions '{"email": "*@zürich.example"}' >/dev/null
post /v1/suppressions '{"email": "*@co.uk"}' >/dev/null
post /v1/suppressions '{"email": "a*@initech.example"}' >/dev/null
post /v1/suppressions '{"email": "bill@initech.example"}' >/dev/null
post /v1/contacts '{"first_name": "Star", "email": "*@umbrella.example", "do_not_contact": true}' >/dev/null
hank=$(post /v1/contacts '{"first_name": "Hank", "email": "hank@globex.example"}' | id id)
peter=$(post /v1/contacts '{"first_name": "Peter", "email": "peter@initech.example"}' | id id)
template=$(post /v1/sequence-templates '{"name": "T", "steps": [{"index": 0, "type": "auto_email", "day": 300, "subject": "S", "message": "M"}]}' | id id)
audience=$(post /v1/audiences "{\"name\": \"A\", \"contact_ids\": [\"$hank\", \"$peter\"]}" | id id)
campaign=$(post /v1/campaigns "{\"name\": \"C\", \"template_id\": \"$template\", \"audience_ids\": [\"$audience\"], \"status\": \"active\"}" | id id)
for _ in $(seq 600); do post "/v1/campaigns/$campaign/sequences/list" '{}' | grep -q '"total_count":2' && break; sleep 0.1; done

kill "$server"
wait "$server" || true
run backup "$out.backup" >&2
printf 'Acme Sales %s\ncampaign %s\nhank %s\npeter %s\n' "$acme" "$campaign" "$hank" "$peter" > "$out.keys"
