#!/usr/bin/env bash
# make-attempt-fixture.sh PROSPECTOR OUT: like make-fixture.sh, with one organization that has attempts to deliver events to
# three webhook subscriptions: one that works, one whose endpoint does not exist, and one that failed and was deleted. OUT.jsonl
# has the attempts of each as the program listed them.
set -euo pipefail
program=$1 out=$2
work=$(mktemp -d)
server= endpoint=
trap 'kill $server $endpoint 2>/dev/null || true; rm -r "$work"' EXIT
export PROSPECTOR_ADDR=127.0.0.1:18096 PROSPECTOR_RATE_LIMIT_PER_MINUTE=100000 PROSPECTOR_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true
export PROSPECTOR_WEBHOOKS_RETRY_SCHEDULE=100ms
run() { "$program" --data-dir "$work/data" "$@"; }
python3 - <<'PY' &
import http.server
class Endpoint(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(500 if self.path.startswith("/failing") else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 18095), Endpoint).serve_forever()
PY
endpoint=$!

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
subscribe() { call POST /v1/webhooks/subscriptions '{"url": "http://'"$1"'", "triggers": ["contact.*"]}' | id id; }
await() { # SUBSCRIPTION COUNT
  for _ in $(seq 100); do call GET "/v1/webhooks/subscriptions/$1/deliveries" '' | grep -q '"total_count":'"$2"'[,}]' && return; sleep 0.1; done
  echo "$1 does not have $2 attempts" >&2; exit 1
}

working=$(subscribe 127.0.0.1:18095/working) missing=$(subscribe nowhere.invalid/) deleted=$(subscribe 127.0.0.1:18095/failing)
bill=$(call POST /v1/contacts '{"first_name": "Bill", "email": "bill@initech.example"}' | id id)
for title in VP Director; do call PATCH "/v1/contacts/$bill" '{"title": "'$title'"}' >/dev/null; done
await "$working" 3; await "$missing" 6; await "$deleted" 6
for s in "$working" "$missing" "$deleted"; do call GET "/v1/webhooks/subscriptions/$s/deliveries" ''; echo; done > "$out.jsonl"
call DELETE "/v1/webhooks/subscriptions/$deleted" '' >/dev/null

kill "$server"
wait "$server" || true
run backup "$out.backup" >&2
printf 'Acme Sales %s\nworking %s\nmissing %s\ndeleted %s\n' "$acme" "$working" "$missing" "$deleted" > "$out.keys"
