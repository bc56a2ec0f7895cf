#!/usr/bin/env bash
# make-tombstone-fixture.sh PROSPECTOR OUT: like make-fixture.sh, with one organization in which a tag and an account of
# 480 contacts and one contact were deleted. The program is killed before it has rewritten the contacts.
set -euo pipefail
program=$1 out=$2
work=$(mktemp -d)
server=
trap 'kill "$server" 2>/dev/null || true; rm -r "$work"' EXIT
export PROSPECTOR_ADDR=127.0.0.1:18096 PROSPECTOR_RATE_LIMIT_PER_MINUTE=100000
run() { "$program" --data-dir "$work/data" "$@"; }

run org create --name "Acme Sales" >&2
run user create --org "Acme Sales" --email ada@acme.example --first-name Ada >&2
acme=$(run key create --org "Acme Sales" --name fixture --access admin --json | grep -o '"key": *"[^"]*' | cut -d'"' -f4)
"$program" --data-dir "$work/data" serve >&2 &
server=$!
for _ in $(seq 100); do curl -sf "http://$PROSPECTOR_ADDR/readyz" >/dev/null && break; sleep 0.1; done
call() { # METHOD PATH BODY
  local answer
  answer=$(printf '%s' "$3" | curl -s -X "$1" -H "Authorization: Bearer $acme" -H 'Content-Type: application/json' "http://$PROSPECTOR_ADDR$2" -d @-)
  case $answer in '{"error":'*) echo "$1 $2: $answer" >&2; exit 1 ;; esac
  printf '%s' "$answer"
}
id() { grep -o "\"$1\":\"[^\"]*" | head -1 | cut -d'"' -f4; }

gone=$(call POST /v1/tags '{"name": "Gone", "color": "red", "object_type": "contact"}' | id id)
kept=$(call POST /v1/tags '{"name": "Kept", "color": "green", "object_type": "contact"}' | id id)
account=$(call POST /v1/accounts '{"name": "Initech"}' | id id)
contact=$(call POST /v1/contacts '{"first_name": "Bill", "last_name": "Lumbergh", "email": "bill@initech.example"}' | id id)
records=$(for i in $(seq 480); do printf ',{"first_name": "F%d", "last_name": "L", "account_id": "%s", "tags": ["%s", "%s"]}' "$i" "$account" "$gone" "$kept"; done)
call POST /v1/contacts/batch "{\"records\": [${records:1}]}" >/dev/null
call DELETE "/v1/contacts/$contact" '' >/dev/null
call DELETE "/v1/accounts/$account" '' >/dev/null
call DELETE "/v1/tags/$gone" '' >/dev/null
kill -9 "$server"
wait "$server" || true
run backup "$out.backup" >&2
printf 'Acme Sales %s\ntag %s\naccount %s\ncontact %s\n' "$acme" "$gone" "$account" "$contact" > "$out.keys"
