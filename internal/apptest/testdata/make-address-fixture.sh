#!/usr/bin/env bash
# make-address-fixture.sh PROSPECTOR OUT: like make-fixture.sh, with one organization whose addresses and websites are
# spelled in ways that newer builds compare in canonical form.
set -euo pipefail
program=$1 out=$2
work=$(mktemp -d)
server=
trap 'kill "$server" 2>/dev/null || true; rm -r "$work"' EXIT
export PROSPECTOR_ADDR=127.0.0.1:18098 PROSPECTOR_RATE_LIMIT_PER_MINUTE=100000
run() { "$program" --data-dir "$work/data" "$@"; }

run org create --name "Acme Sales" >&2
run user create --org "Acme Sales" --email ada@acme.example --first-name Ada >&2
acme=$(run key create --org "Acme Sales" --name fixture --access admin --json | grep -o '"key": *"[^"]*' | cut -d'"' -f4)
cat > "$work/companies.csv" <<'CSV'
id,name,website
a,Alpha,https://www.linkedin.com/company/alpha
b,Beta,linkedin.com/company/beta
z,Zürich Works,zürich.example
CSV
cat > "$work/people.csv" <<'CSV'
id,first_name,email,title,company_website
p1,Ann,ann@shop.example,CEO,shop.awaited.example
p2,Bob,bob@shop.example,CEO,facebook.com/gamma
CSV
run catalog import --companies "$work/companies.csv" >&2
run catalog import --people "$work/people.csv" >&2
"$program" --data-dir "$work/data" serve >&2 &
server=$!
for _ in $(seq 100); do curl -sf "http://$PROSPECTOR_ADDR/readyz" >/dev/null && break; sleep 0.1; done
post() {
  local answer
  answer=$(curl -s -H "Authorization: Bearer $acme" -H 'Content-Type: application/json' "http://$PROSPECTOR_ADDR$1" -d "$2")
  case $answer in '{"error":'*) echo "$1 $2: $answer" >&2; exit 1 ;; esac
}
post /v1/suppressions '{"email": "bill@zürich.example", "reason": "first"}'
post /v1/suppressions '{"email": "BILL@xn--zrich-kva.example", "reason": "second"}'
post /v1/suppressions '{"domain": "bücher.example"}'
post /v1/suppressions '{"domain": "xn--mnchen-3ya.example"}'
post /v1/contacts '{"first_name": "Known", "email": "Known@zürich.example"}'
post /v1/contacts '{"first_name": "Opted", "email": "opted@xn--zrich-kva.example", "do_not_contact": true}'
post /v1/contacts '{"first_name": "Same", "email": "OPTED@zürich.example"}'
post /v1/accounts '{"name": "Zürich Works", "website": "zürich.example"}'
post /v1/accounts '{"name": "Alpha", "website": "https://linkedin.com/company/alpha"}'
kill "$server"
wait "$server" || true
run backup "$out.backup" >&2
printf 'Acme Sales %s\n' "$acme" > "$out.keys"
