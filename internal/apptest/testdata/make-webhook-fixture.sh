#!/usr/bin/env bash
# make-webhook-fixture.sh PROSPECTOR OUT: like make-fixture.sh, with one organization that has pending deliveries of
# four events to two webhook subscriptions. The endpoint of the first has failed, the second is paused.
set -euo pipefail
program=$1 out=$2
work=$(mktemp -d)
server=
trap 'kill "$server" 2>/dev/null || true; rm -r "$work"' EXIT
export PROSPECTOR_ADDR=127.0.0.1:18097 PROSPECTOR_RATE_LIMIT_PER_MINUTE=100000 PROSPECTOR_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true
run() { "$program" --data-dir "$work/data" "$@"; }

run org create --name "Acme Sales" >&2
run user create --org "Acme Sales" --email ada@acme.example --first-name Ada >&2
acme=$(run key create --org "Acme Sales" --name fixture --access admin --json | grep -o '"key": *"[^"]*' | cut -d'"' -f4)
"$program" --data-dir "$work/data" serve >&2 &
server=$!
for _ in $(seq 100); do curl -sf "http://$PROSPECTOR_ADDR/readyz" >/dev/null && break; sleep 0.1; done
call() { # METHOD PATH BODY
  local answer
  answer=$(curl -s -X "$1" -H "Authorization: Bearer $acme" -H 'Content-Type: application/json' "http://$PROSPECTOR_ADDR$2" ${3:+-d "$3"})
  case $answer in '{"error":'*) echo "$1 $2 $3: $answer" >&2; exit 1 ;; esac
  printf '%s' "$answer"
}
id() { grep -o "\"$1\":\"[^\"]*" | head -1 | cut -d'"' -f4; }

failing=$(call POST /v1/webhooks/subscriptions '{"url": "http://127.0.0.1:1/failing", "triggers": ["contact.*"]}' | id id)
paused=$(call POST /v1/webhooks/subscriptions '{"url": "http://127.0.0.1:1/paused", "triggers": ["contact.created"]}' | id id)
bill=$(call POST /v1/contacts '{"first_name": "Bill", "email": "bill@initech.example"}' | id id)
call POST /v1/contacts '{"first_name": "Peter", "email": "peter@initech.example"}' >/dev/null
call POST /v1/contacts '{"first_name": "Milton", "email": "milton@initech.example"}' >/dev/null
call PATCH "/v1/webhooks/subscriptions/$paused" '{"status": "paused"}' >/dev/null
call PATCH "/v1/contacts/$bill" '{"title": "VP"}' >/dev/null
for _ in $(seq 100); do call GET "/v1/webhooks/subscriptions/$failing/deliveries" '' | grep -q '"status":"failed"' && break; sleep 0.1; done

kill "$server"
wait "$server" || true
run backup "$out.backup" >&2
printf 'Acme Sales %s\n' "$acme" > "$out.keys"
