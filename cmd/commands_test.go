package cmd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/identity"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

const (
	anID   = `[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`
	aTime  = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
	aKey   = `pro_[A-Za-z0-9_-]{48}`
	absent = "01900000-0000-7000-8000-000000000000" // an id that does not exist
)

// bothWays runs a test without a server, where commands open the store, and with a server.
func bothWays(t *testing.T, test func(t *testing.T, p *place)) {
	t.Run("without a server", func(t *testing.T) {
		t.Parallel()
		test(t, newPlace(t))
	})
	t.Run("with a server", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		s := p.serve()
		test(t, p)
		s.await(s.stderr, regexp.MustCompile(`msg="admin operation" operation=`)) // otherwise the commands did not use the server
		s.stop()
	})
}

func TestOrganizations(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		created := `{"id": "<id>", "created_at": "<time>", "updated_at": "<time>", "name": "Acme <Sales> & Söhne", "time_zone": "UTC",
			"business_days": [1, 2, 3, 4, 5], "holidays": [], "sending_window": {"from_hour": 8, "to_hour": 18}, "postal_address": null, "mail_footer": "{{organization.name}}\n{{organization.postal_address}}\nUnsubscribe: {{unsubscribe_url}}", "sender_domains": [], 
			"billing_mode": "platform",
			"limits": {"rate_limit_per_minute": null, "accounts_per_month": null, "contacts_per_month": null}}`
		id := p.run("org", "create", "--name", "Acme <Sales> & Söhne", "--json").prints(created).text("id")
		p.run("org", "create", "--name", "Beta").says(`Created organization "Beta", ` + anID + "\n")

		var list struct {
			Organizations []struct{ ID, Name string }
		}
		if err := json.Unmarshal([]byte(p.run("org", "list", "--json").ok().stdout), &list); err != nil {
			t.Fatal(err)
		}
		if o := list.Organizations; len(o) != 2 || o[0].ID != id || o[0].Name != "Acme <Sales> & Söhne" || o[1].Name != "Beta" {
			t.Fatalf("org list: %+v", list)
		}
		p.run("org", "list", "--org", "Beta").says(`ID +NAME +CREATED\n` + anID + ` +Beta +` + aTime + `\n`)
		p.run("org", "list").says(`ID +NAME +CREATED\n` + id + ` +Acme <Sales> & Söhne +` + aTime + `\n` + anID + ` +Beta +` + aTime + `\n`)

		p.run("org", "set", "--org", id, "--accounts-per-month", "50", "--contacts-per-month", "0", "--rate-limit", "600",
			"--time-zone", "Europe/Berlin", "--billing-mode", "usage_based", "--json").
			prints(`{"id": "` + id + `", "created_at": "<time>", "updated_at": "<time>", "name": "Acme <Sales> & Söhne", "time_zone": "Europe/Berlin",
				"business_days": [1, 2, 3, 4, 5], "holidays": [], "sending_window": {"from_hour": 8, "to_hour": 18}, "postal_address": null, "mail_footer": "{{organization.name}}\n{{organization.postal_address}}\nUnsubscribe: {{unsubscribe_url}}", "sender_domains": [], 
			"billing_mode": "usage_based",
				"limits": {"rate_limit_per_minute": 600, "accounts_per_month": 50, "contacts_per_month": 0}, "users_outside_sender_domains": []}`)
		// Setting one leaves the others unchanged, and the words for no limit remove a limit.
		p.run("org", "set", "--org", "Acme <Sales> & Söhne", "--rate-limit", "default", "--accounts-per-month", "unlimited", "--json").
			prints(`{"id": "` + id + `", "created_at": "<time>", "updated_at": "<time>", "name": "Acme <Sales> & Söhne", "time_zone": "Europe/Berlin",
				"business_days": [1, 2, 3, 4, 5], "holidays": [], "sending_window": {"from_hour": 8, "to_hour": 18}, "postal_address": null, "mail_footer": "{{organization.name}}\n{{organization.postal_address}}\nUnsubscribe: {{unsubscribe_url}}", "sender_domains": [], 
			"billing_mode": "usage_based",
				"limits": {"rate_limit_per_minute": null, "accounts_per_month": null, "contacts_per_month": 0}, "users_outside_sender_domains": []}`)
		p.run("org", "set", "--org", "Beta", "--time-zone", "Asia/Tokyo").says(`Changed organization "Beta", ` + anID + "\n")
		if zone := p.run("org", "create", "--name", "Gamma", "--time-zone", "Europe/Berlin", "--json").text("time_zone"); zone != "Europe/Berlin" {
			t.Errorf("the time zone is %s", zone)
		}
		p.run("org", "create", "--name", "Delta", "--time-zone", "Mars/Olympus").fails(1, "time_zone", "IANA")
	})
}

// TestSenderDomains restricts the addresses of users, and checks that the command warns about those
// that are outside.
func TestSenderDomains(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		p.run("org", "create", "--name", "Acme").ok()
		outside := p.run("user", "create", "--org", "Acme", "--email", "ada@elsewhere.example", "--json").text("id")
		p.run("user", "create", "--org", "Acme", "--email", "bob@mail.acme.example").ok()
		p.run("org", "set", "--org", "Acme", "--sender-domain", "acme.example", "--sender-domain", "ACME.test").
			says(`Changed organization "Acme", ` + anID + `\nWarning: the addresses of these users are outside acme.example, acme.test. ` +
				`They cannot own a campaign until you change them, and those that they own are held:\n  ` + outside + ` ada@elsewhere.example\n`)
		var set struct {
			Domains []string                 `json:"sender_domains"`
			Outside []struct{ Email string } `json:"users_outside_sender_domains"`
		}
		answer := p.run("org", "set", "--org", "Acme", "--rate-limit", "5", "--json").ok().stdout
		if err := json.Unmarshal([]byte(answer), &set); err != nil || len(set.Domains) != 2 || len(set.Outside) != 1 || set.Outside[0].Email != "ada@elsewhere.example" {
			t.Errorf("%v: %s", err, answer)
		}
		p.run("user", "create", "--org", "Acme", "--email", "eve@notacme.example").
			fails(1, `email: "eve@notacme.example" is outside the sender domains of the organization: acme.example, acme.test`)
		p.run("user", "create", "--org", "Acme", "--email", "eve@acme.test").ok()
		p.run("org", "set", "--org", "Acme", "--sender-domain", "no domain").fails(1, `sender_domains[0]: "no domain" is not`)
		p.run("org", "set", "--org", "Acme", "--sender-domain", "").fails(2, "--sender-domain: must not be empty; any removes the restriction")
		p.run("org", "set", "--org", "Acme", "--sender-domain", "any").says(`Changed organization "Acme", ` + anID + `\n`)
		p.run("user", "create", "--org", "Acme", "--email", "eve@notacme.example").ok()
	})
}

// TestControlCharactersInFlags checks that commands refuse names with control characters, and print none.
func TestControlCharactersInFlags(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		p.run("org", "create", "--name", "Acme").ok()
		p.run("user", "create", "--org", "Acme", "--email", "ada@acme.example").ok()
		for _, c := range []struct {
			field string
			args  []string
		}{
			{"name", []string{"org", "create", "--name"}},
			{"first_name", []string{"user", "create", "--org", "Acme", "--email", "bob@acme.example", "--first-name"}},
			{"last_name", []string{"user", "create", "--org", "Acme", "--email", "bob@acme.example", "--last-name"}},
			{"title", []string{"user", "create", "--org", "Acme", "--email", "bob@acme.example", "--title"}},
			{"name", []string{"key", "create", "--org", "Acme", "--name"}},
		} {
			r := p.run(append(c.args, "a\x1b[31m\nb")...).fails(1, c.field+": must not contain control characters")
			if strings.ContainsAny(strings.TrimSuffix(r.stderr, "\n"), "\x1b\n") {
				t.Errorf("%q: %q", c.args, r.stderr)
			}
		}
	})
}

// TestControlCharactersInStore checks that commands escape the control characters of names that were stored
// before they were refused. A name takes one line and does not control the terminal.
func TestControlCharactersInStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id, _ := p.org("Acme")
	org := uuid.MustParse(id)
	const name, escaped = "a\x1b[31m\n\tb\u009b", `a\x1b[31m\n\tb\u009b`
	s, err := service.Open(apptest.Config(p.path("data")), service.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Store.Update(t.Context(), org, store.Actor{}, func(tx *store.Tx) error {
		acme, err := s.Identity.Organizations.Get(tx, org)
		if err != nil {
			return err
		}
		acme.Record.Name = name
		_, err = s.Identity.Organizations.Table.Update(tx, acme, acme.Record, nil)
		return errors.Join(err,
			s.Identity.Users.Table.Scan(tx, func(d store.Doc[identity.User]) (bool, error) {
				d.Record.Email, d.Record.FirstName = name, shape.Text(name)
				_, err := s.Identity.Users.Table.Update(tx, d, d.Record, nil)
				return true, err
			}),
			s.Identity.Keys.Table.Scan(tx, func(d store.Doc[identity.Key]) (bool, error) {
				d.Record.Name = name
				_, err := s.Identity.Keys.Table.Update(tx, d, d.Record, nil)
				return true, err
			}))
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		lines int
	}{
		{[]string{"org", "list"}, 2},
		{[]string{"user", "list", "--org", id}, 2},
		{[]string{"key", "list", "--org", id}, 2},
		{[]string{"org", "set", "--org", id, "--sender-domain", "acme.example"}, 3}, // lists the users outside
	} {
		out := p.run(c.args...).ok().stdout
		if !strings.Contains(out, escaped) || strings.ContainsAny(out, "\x1b\t\u009b") || strings.Count(out, "\n") != c.lines {
			t.Errorf("%q prints %q", c.args, out)
		}
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		p.run("org", "create", "--name", "Acme").ok()
		p.run("user", "list", "--org", "Acme", "--json").prints(`{"users": []}`)
		ada := `{"id": "<id>", "created_at": "<time>", "updated_at": "<time>", "email": "ada@acme.example", "first_name": "Ada",
			"last_name": "Marsh", "title": "Account Executive", "access": "admin", "active": true, "last_seen_at": null}`
		bob := `{"id": "<id>", "created_at": "<time>", "updated_at": "<time>", "email": "bob@acme.example", "first_name": null,
			"last_name": null, "title": null, "access": "write", "active": true, "last_seen_at": null}`
		p.run("user", "create", "--org", "Acme", "--email", "ada@acme.example", "--first-name", "Ada", "--last-name", "Marsh",
			"--title", "Account Executive", "--access", "admin", "--json").prints(ada)
		p.run("user", "create", "--org", "Acme", "--email", "bob@acme.example").says(`Created user bob@acme\.example, ` + anID + "\n")
		p.run("user", "list", "--org", "Acme", "--json").prints(`{"users": [` + ada + `, ` + bob + `]}`)
		p.run("user", "list", "--org", "Acme").
			says(`ID +EMAIL +NAME +ACCESS +ACTIVE +LAST SEEN\n` + anID + ` +ada@acme\.example +Ada Marsh +admin +true +never\n` +
				anID + ` +bob@acme\.example +write +true +never\n`)
	})
}

// TestInit asks for a first organization and its user, and makes a link with which the user signs in.
func TestInit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.feed(strings.NewReader("Acme Sales\nAda Marsh Lovelace\nada at acme\n\n"), "init").
		fails(1, `email: "ada at acme" is not an email address`)
	p.run("org", "list", "--json").prints(`{"organizations": []}`)
	said := p.feed(strings.NewReader("Acme Sales\nAda Marsh Lovelace\nada@acme.example\nEurope/Berlin\n"), "init", "--json").ok()
	for _, want := range []string{`"Acme Sales"`, `"Europe/Berlin"`, `"Ada"`, `"Marsh Lovelace"`, `"admin"`, `/app/welcome#token=`} {
		if !strings.Contains(said.stdout, want) {
			t.Errorf("init does not say %s: %s", want, said.stdout)
		}
	}
	p.run("init").fails(1, "prospector.yaml exists already")
	p.run("init", "--output", "other.yaml", "--name", "Bob").fails(2, "init requires --organization")
	p.run("init", "--output", "other.yaml", "--organization", "Beta", "--name", "Bob", "--email", "bob@beta.example", "--time-zone", "UTC").
		says(`Created organization "Beta" with the user bob@beta\.example, and wrote other\.yaml\. Start the server:\n\n  prospector serve --config other\.yaml\n\n` +
			`Then set your password and sign in\. The link is valid once, until ` + aTime + `:\n\n  http://127\.0\.0\.1:8080/app/welcome#token=[A-Za-z0-9_-]{43}\n`)
	p.run("user", "list", "--org", "Beta", "--config", "prospector.yaml").ok()
}

// TestInvite makes a one-time link, and sets a password that is read from standard input.
func TestInvite(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		p.run("org", "create", "--name", "Acme").ok()
		ada := []string{"--org", "Acme", "--email", "ADA@acme.example"}
		invite, setPassword := append([]string{"user", "invite"}, ada...), append([]string{"user", "set-password"}, ada...)
		p.run(invite...).fails(1, `no user with the address "ADA@acme.example"`)
		p.run("user", "create", "--org", "Acme", "--email", "ada@acme.example").ok()
		p.run(invite...).says(`The link is valid once, until ` + aTime + `:\n\nhttp://127\.0\.0\.1:\d+/app/welcome#token=[A-Za-z0-9_-]{43}\n`)
		p.run(append(invite, "--json")...).prints(`{"url": "<any>", "expires_at": "<time>"}`)
		p.feed(strings.NewReader("correct horse battery\n"), setPassword...).says(`Set the password of ada@acme\.example\n`)
		p.feed(strings.NewReader("too short\r\n"), setPassword...).fails(1, "password: must have at least 10 characters, not 9")
		p.feed(strings.NewReader("ada@acme.example\r\n"), setPassword...).fails(1, "password: is too easy to guess: it contains your name")
		p.feed(strings.NewReader(""), setPassword...).fails(1, "password: must have at least 10 characters, not 0")
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		org := p.run("org", "create", "--name", "Acme", "--json").text("id")
		ada := p.run("user", "create", "--org", org, "--email", "ada@acme.example", "--json").text("id")
		bob := p.run("user", "create", "--org", org, "--email", "bob@acme.example", "--json").text("id")

		// By default a key acts for the first user and has write access.
		shown := `"created_at": "<time>", "updated_at": "<time>", "expires_at": null, "last_used_at": null`
		made := p.run("key", "create", "--org", "Acme", "--name", "sync", "--json").
			prints(`{"id": "<id>", "name": "sync", "user_id": "` + ada + `", "access": "write", "active": true, "deactivated_at": null, "key": "<any>", ` + shown + `}`)
		if !regexp.MustCompile(`\A` + aKey + `\z`).MatchString(made.text("key")) {
			t.Fatalf("the key is %q", made.text("key"))
		}
		id := made.text("id")
		p.run("key", "create", "--org", org, "--user", bob, "--name", "reports", "--access", "read").
			says(`Created key "reports", ` + anID + `, with read access\. It is shown only once:\n\n` + aKey + `\n`)

		sync := `{"id": "` + id + `", "name": "sync", "user_id": "` + ada + `", "access": "write", "active": true, "deactivated_at": null, ` + shown + `}`
		reports := `{"id": "<id>", "name": "reports", "user_id": "` + bob + `", "access": "read", "active": true, "deactivated_at": null, ` + shown + `}`
		p.run("key", "list", "--org", org, "--json").prints(`{"keys": [` + sync + `, ` + reports + `]}`)

		gone := strings.NewReplacer(`"active": true`, `"active": false`, `"deactivated_at": null`, `"deactivated_at": "<time>"`).Replace(sync)
		first := p.run("key", "deactivate", "--org", "Acme", id, "--json").prints(gone)
		// Deactivating again changes nothing, not even the time.
		if again := p.run("key", "deactivate", "--org", "Acme", id, "--json").ok(); again.stdout != first.stdout {
			t.Fatalf("deactivated twice: %s, then %s", first.stdout, again.stdout)
		}
		p.run("key", "deactivate", "--org", "Acme", id).says(`Deactivated key "sync", ` + id + "\n")
		p.run("key", "list", "--org", "Acme").
			says(`ID +NAME +ACCESS +ACTIVE +EXPIRES +LAST USED\n` + id + ` +sync +write +false +never +never\n` + anID + ` +reports +read +true +never +never\n`)
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.run("version", "--json").prints(fmt.Sprintf(`{"version": %q, "commit": "<any>", "store_format": %d, "go": %q}`,
		testVersion, store.Format(), runtime.Version()))
	p.run("version").says("prospector " + regexp.QuoteMeta(testVersion) + ` \(commit ([0-9a-f]{40,64}|unknown), store format \d+, go[^)]+\)` + "\n")
}

func TestHelp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, args := range [][]string{{"--help"}, {"help"}, {"org", "--help"}, {"key", "deactivate", "--help"}, {"help", "serve"}} {
		if r := p.run(args...).ok(); !strings.Contains(r.stdout, "Usage:") {
			t.Errorf("%s prints %q", r.what, r.stdout)
		}
	}
}

// TestBadCommandLines checks usage errors. They are found before the store is opened, so none is
// created.
func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, c := range []struct{ line, says string }{
		{"", "missing subcommand (see 'prospector --help')"},
		{"frobnicate", `unknown command "frobnicate"`},
		{"help nosuch", `unknown command "nosuch"`},
		{"help org nosuch", `unknown command "org nosuch"`},
		{"completion", "requires one argument: bash, zsh, fish or powershell"},
		{"org", "missing subcommand (see 'prospector org --help')"},
		{"user", "missing subcommand (see 'prospector user --help')"},
		{"key", "missing subcommand (see 'prospector key --help')"},
		{"org frobnicate", `unknown command "org frobnicate"`},
		{"user delete", `unknown command "user delete"`},
		{"key --json rotate", `unknown command "key rotate"`},
		{"serve --frobnicate", "unknown flag: --frobnicate"},
		{"org create --frobnicate", "unknown flag: --frobnicate"},
		{"org create -x", "unknown shorthand flag: 'x'"},
		{"version --json=perhaps", "--json"},
		{"org create --name", "flag needs an argument: --name"},
		{"org create", "requires --name"},
		{"org create --name=", "requires --name"},
		{"org set --rate-limit 5", "requires --org"},
		{"user create --email ada@acme.example", "requires --org"},
		{"user create --org Acme", "requires --email"},
		{"user list", "requires --org"},
		{"user invite --org Acme", "requires --email"},
		{"user set-password --email ada@acme.example", "requires --org"},
		{"key create --name sync", "requires --org"},
		{"key create --org Acme", "requires --name"},
		{"key list", "requires --org"},
		{"key deactivate " + absent, "requires --org"},
		{"key deactivate --org Acme", "requires one argument: the key's id"},
		{"key deactivate --org Acme " + absent + " " + absent, "requires one argument"},
		{"key deactivate --org Acme sync", `"sync" is not the id of a key`},
		{"serve now", `takes no arguments, but "now" was given`},
		{"demo now", `takes no arguments, but "now" was given`},
		{"org list Acme", `takes no arguments, but "Acme" was given`},
		{"org create --name Acme Sales", `takes no arguments, but "Sales" was given`},
		{"version 1", `takes no arguments, but "1" was given`},
		{"org set --org Acme", "requires at least one setting"},
		{"org set --org Acme --rate-limit many", `--rate-limit: "many" is not a non-negative integer or "default"`},
		{"org set --org Acme --rate-limit -1", `--rate-limit: "-1" is not a non-negative integer`},
		{"org set --org Acme --rate-limit 1.5", `--rate-limit: "1.5" is not a non-negative integer`},
		{"org set --org Acme --rate-limit=", `--rate-limit: "" is not a non-negative integer`},
		{"org set --org Acme --rate-limit unlimited", `--rate-limit: "unlimited" is not a non-negative integer`},
		{"org set --org Acme --accounts-per-month default", `--accounts-per-month: "default" is not a non-negative integer or "unlimited"`},
		{"org set --org Acme --contacts-per-month 99999999999999999999", `--contacts-per-month: "99999999999999999999" is not a non-negative integer`},
	} {
		p.run(strings.Fields(c.line)...).fails(2, c.says)
	}
	if made, err := os.ReadDir(p.dir); err != nil || len(made) != 0 {
		t.Errorf("usage errors created %v (%v)", made, err)
	}
}

// TestRefusals checks what the service refuses. The errors are the same with and without a server, and
// nothing changes.
func TestRefusals(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		org, _ := p.org("Acme")
		other := p.run("org", "create", "--name", "Other", "--json").text("id")
		first := p.run("org", "create", "--name", "Twin", "--json").text("id")
		second := p.run("org", "create", "--name", "Twin", "--json").text("id")
		p.run("org", "create", "--name", first).ok() // an id that is also a name is still an id
		stranger := p.run("user", "create", "--org", first, "--email", "eve@twin.example", "--json").text("id")
		foreign := p.run("key", "create", "--org", first, "--name", "theirs", "--json").text("id")
		state := func() (all string) {
			for _, list := range [][]string{{"org", "list"}, {"user", "list", "--org", org}, {"key", "list", "--org", org}, {"key", "list", "--org", first}} {
				all += p.run(append(list, "--json")...).ok().stdout
			}
			return all
		}
		before := state()
		for _, c := range []struct {
			args []string
			says []string
		}{
			{[]string{"org", "create", "--name", strings.Repeat("x", 256)}, []string{"name: must be at most 255 characters"}},
			{[]string{"org", "set", "--org", org, "--time-zone", "Mars/Olympus"}, []string{"time_zone", "IANA"}},
			{[]string{"org", "set", "--org", org, "--billing-mode", "gold"}, []string{`billing_mode: "gold" is not one of: platform, usage_based`}},
			{[]string{"org", "set", "--org", org, "--rate-limit", "5", "--time-zone", "Mars/Olympus"}, []string{"time_zone"}},
			{[]string{"org", "set", "--org", "Nobody", "--rate-limit", "5"}, []string{`no organization "Nobody"`, "prospector org list"}},
			{[]string{"org", "set", "--org", "acme", "--rate-limit", "5"}, []string{`no organization "acme"`}},
			{[]string{"user", "list", "--org", absent}, []string{`no organization "` + absent + `"`}},
			{[]string{"user", "create", "--org", "Twin", "--email", "ada@acme.example"}, []string{`2 organizations are named "Twin"`, first, second}},
			{[]string{"key", "list", "--org", "Twin"}, []string{`2 organizations are named "Twin"`, first, second}},
			{[]string{"user", "create", "--org", org, "--email", "ada at acme"}, []string{`email: "ada at acme" is not an email address`}},
			{[]string{"user", "create", "--org", org, "--email", "a@acme.example, b@acme.example"}, []string{`email: "a@acme.example, b@acme.example" is not an email address`}},
			{[]string{"user", "create", "--org", org, "--email", "eve@acme.example", "--access", "root"}, []string{`access: "root" is not one of: read, write, admin`}},
			{[]string{"key", "create", "--org", other, "--name", "sync"}, []string{"the organization has no active users", "create one first"}},
			{[]string{"key", "create", "--org", org, "--name", "sync", "--access", "root"}, []string{`access: "root" is not one of: read, write, admin`}},
			{[]string{"key", "create", "--org", org, "--name", "sync", "--user", "ada"}, []string{"user"}},
			{[]string{"key", "create", "--org", org, "--name", "sync", "--user", stranger}, []string{"user"}},
			{[]string{"key", "deactivate", "--org", org, absent}, []string{"has no key"}},
			{[]string{"key", "deactivate", "--org", org, foreign}, []string{"has no key"}},
		} {
			p.run(c.args...).fails(1, c.says...)
			p.run(append(c.args, "--json")...).fails(1, c.says...)
		}
		if after := state(); after != before {
			t.Errorf("a refused command changed something:\n%s\nis now\n%s", before, after)
		}
	})
}

// TestNoStore checks that only org create creates a store. A misspelled --data-dir must not look like an
// empty store.
func TestNoStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, line := range []string{
		"org list", "org set --org Acme --rate-limit 5", "user create --org Acme --email ada@acme.example", "user list --org Acme",
		"user invite --org Acme --email ada@acme.example", "user set-password --org Acme --email ada@acme.example",
		"key create --org Acme --name sync", "key list --org Acme", "key deactivate --org Acme " + absent,
	} {
		p.run(append(strings.Fields(line), "--data-dir", "elsewhere")...).fails(1, "no store in "+p.path("elsewhere"), "prospector org create", "--data-dir")
	}
	if made, err := os.ReadDir(p.dir); err != nil || len(made) != 0 {
		t.Errorf("commands that must not create a store created %v (%v)", made, err)
	}
	p.write("file", "")
	p.run("org", "create", "--name", "Acme", "--data-dir", "file").fails(1, p.path("file"), "not a directory")
	p.run("org", "create", "--name", "Acme", "--data-dir", "some/where").ok()
	for path, mode := range map[string]os.FileMode{p.path("some", "where"): 0o700, p.path("some", "where", "prospector.db"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %v", path, info, err, mode)
		}
	}
}

// TestCommandsAtOnce checks that concurrent commands without a server wait for each other.
func TestCommandsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.run("org", "create", "--name", "Acme").ok()
	var running sync.WaitGroup
	for i := range 6 {
		running.Go(func() {
			r, err := p.try("user", "create", "--org", "Acme", "--email", fmt.Sprintf("ada%d@acme.example", i))
			if err != nil || r.status != 0 {
				t.Errorf("%v: %d %s", err, r.status, r.stderr)
			}
		})
	}
	running.Wait()
	if n := strings.Count(p.run("user", "list", "--org", "Acme").ok().stdout, "@acme.example"); n != 6 {
		t.Errorf("got %d users, want 6", n)
	}
}

// TestLostOutput checks that key create fails if it cannot print the key, which is shown only once.
func TestLostOutput(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	p := newPlace(t)
	org, _ := p.org("Acme")
	for _, flag := range []string{"--json", "--json=false"} {
		t.Run(flag, func(t *testing.T) {
			c := p.command("key", "create", "--org", org, "--name", "sync", flag)
			c.Stdout = full
			if err := c.Run(); c.ProcessState == nil || c.ProcessState.ExitCode() != 1 {
				t.Errorf("the key was not printed, but the command ends with %v", err)
			}
		})
	}
}
