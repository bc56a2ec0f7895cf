package cmd_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/store"
)

// importer is an organization that imports Previews of the market.
type importer struct {
	previewKills
	name     string
	tags     map[any]string            // their names by id
	selected map[string]bool           // the source ids of the members that must become records
	doubtful string                    // the source id of a company that was suppressed during the Import
	imports  map[string]string         // by Preview: the operation_id of its Import, once known
	posted   bool                      // the Imports were requested before
	records  map[string]importedRecord // by entity and source id, or website or email
}

// importedRecord is an Account or a Contact without its ids and times.
type importedRecord struct{ company, text string }

// importer creates an organization that knows a part of the market and has overlapping Previews,
// all but the first without a Qualifier. Some members are removed. A company and a person are
// suppressed after the Previews are READY.
func (p *place) importer(s *server, name string, previews int) *importer {
	p.t.Helper()
	org, key := p.org(name)
	o := &importer{previewKills: previewKills{p: p, org: uuid.MustParse(org), key: key}, name: name, tags: map[any]string{}, selected: map[string]bool{}, imports: map[string]string{}}
	o.makeKnown(s)
	tag := func(name, object string) string {
		id := s.id(s.do(http.StatusCreated, key, "POST", "/v1/tags", fmt.Sprintf(`{"name": %q, "color": "red", "object_type": %q}`, name, object)))
		o.tags[id] = name
		return id
	}
	signal := s.id(s.do(http.StatusCreated, key, "POST", "/v1/fields", `{"entity": "accounts", "key": "called", "data_type": "text", "ai": {"question": "What is its name?", "field": "name"}}`))
	rest := []string{`"qualifier_signal_id": "` + signal + `", "qualifier_rule": {"operator": "contains", "value": "e"}`, `"search_input": {"max_candidates": 150}`}
	for i := range previews {
		o.ask(s, i, fmt.Sprintf(`"company_filters": {}, "tag_ids": [%q], "contact_tag_ids": [%q], %s`, tag(fmt.Sprint("Tag ", i), "account"), tag(fmt.Sprint("Tag ", i), "contact"), rest[i]))
	}
	o.awaitAll(s)
	var company, person map[string]any // to suppress
	for _, a := range o.asked {
		companies, people := o.members(s, a.id, "kind=company"), o.members(s, a.id, "kind=person")
		s.do(http.StatusOK, key, "POST", previewPath+"/"+a.id+"/exclude", asJSON(map[string]any{
			"company_ids": []any{companies[3]["source_id"], companies[100]["source_id"]}, "person_ids": []any{people[9]["source_id"], people[200]["source_id"]}}))
		if company == nil {
			has := func(m map[string]any) bool {
				return m["data"].(map[string]any)["website"] != nil || m["data"].(map[string]any)["email"] != nil
			}
			company, person = companies[30+slices.IndexFunc(companies[30:], has)], people[60+slices.IndexFunc(people[60:], has)]
		}
		for _, m := range o.members(s, a.id, "") {
			if m["company_id"] != company["source_id"] && m["source_id"] != person["source_id"] {
				o.selected[m["source_id"].(string)] = true
			}
		}
	}
	s.do(http.StatusCreated, key, "POST", "/v1/suppressions", asJSON(map[string]any{"domain": company["data"].(map[string]any)["website"]}))
	s.do(http.StatusCreated, key, "POST", "/v1/suppressions", asJSON(map[string]any{"email": person["data"].(map[string]any)["email"]}))
	return o
}

// members returns the selected members of a Preview.
func (o *importer) members(s *server, preview, query string) (members []map[string]any) {
	o.p.t.Helper()
	for page := 1; ; page++ {
		var item struct {
			Data struct{ Members []map[string]any }
		}
		decodeInto(o.p.t, s.do(http.StatusOK, o.key, "GET", fmt.Sprintf("%s/%s/members?selected=true&page_size=500&current_page=%d&%s", previewPath, preview, page, query), "").body, &item)
		if len(item.Data.Members) == 0 {
			return members
		}
		members = append(members, item.Data.Members...)
	}
}

// accept requests each Import twice concurrently, from a server that may be killed. Every response
// names the one Import of the Preview, which is accepted once.
func (o *importer) accept(s *server, mayDie bool) {
	var asking sync.WaitGroup
	var mu sync.Mutex
	known := maps.Clone(o.imports)
	for i := range 2 * len(o.asked) {
		preview := o.asked[i/2].id
		asking.Go(func() {
			r, err := send(client, "POST", s.url+previewPath+"/"+preview+"/import", "", "Authorization", "Bearer "+o.key)
			if err != nil && mayDie {
				return
			}
			var item struct {
				Data struct {
					OperationID string `json:"operation_id"`
				}
			}
			mu.Lock()
			defer mu.Unlock()
			_ = json.Unmarshal(r.body, &item) // otherwise there is no id
			before, id := o.imports[preview], item.Data.OperationID
			o.imports[preview] = id
			isNew := r.status == http.StatusAccepted && known[preview] == ""
			if err != nil || id == "" || before != "" && before != id || !isNew && r.status != http.StatusOK {
				o.p.t.Errorf("the Import of Preview %s was %q, now the response is %d %s (%v)", preview, before, r.status, r.body, err)
			}
			if isNew {
				known[preview] = id
			}
		})
	}
	asking.Wait()
	o.posted = true
}

// inspect reads the store after a server has ended: the records, and the Imports' own counts. It
// returns these counts and whether the Imports are finished.
func (o *importer) inspect() (said string, over bool) {
	t := o.p.t
	t.Helper()
	service, s, end := o.p.open(0)
	defer end()
	o.records = map[string]importedRecord{}
	made, accounts, employers := map[string]float64{}, map[uuid.UUID]string{}, map[string]string{}
	take := func(entity, source, company, own string, public []byte, history []record.Change) {
		var fields map[string]any
		decodeInto(t, public, &fields)
		isNew := fields["source"] == "tam_import"
		made[entity] += map[bool]float64{true: 1}[isNew]
		var tags, changes []string
		for _, tag := range fields["tags"].([]any) {
			tags = append(tags, o.tags[tag])
		}
		for _, c := range history {
			changes = append(changes, c.Change+" by "+c.Operation)
		}
		if isNew && len(tags) == 0 || entity == "accounts" && (!isNew && fields["name"] != "Known" || source != "" && len(o.asked) == 1 && !strings.Contains(strings.ToLower(fmt.Sprint(fields["custom_field_called"])), "e")) {
			t.Errorf("%s %s: %v %v", entity, source, fields, tags)
		}
		slices.Sort(tags)
		maps.DeleteFunc(fields, func(name string, _ any) bool {
			return name == "tags" || strings.HasSuffix(name, "_at") || name == "id" || name == "account_id"
		})
		name := entity + " " + source
		for n := 0; source == "" && (n == 0 || o.records[name].text != ""); n++ {
			name = fmt.Sprint(entity, " ", own, n)
		}
		if o.records[name].text != "" || strings.Count(fmt.Sprint(changes), "created") != 1 || entity == "contacts" && source != "" && employers[source] != company {
			t.Errorf("%s %s of %s: %v %v; existing record: %v", entity, source, company, fields, changes, o.records[name])
		}
		o.records[name] = importedRecord{company, fmt.Sprint(fields, tags, changes, " at ", company)}
	}
	err := errors.Join(service.Store.View(catalog.Org, func(tx *store.Tx) error {
		return service.Catalog.People.Scan(tx, func(p store.Doc[catalog.Person]) (bool, error) {
			employers[p.Record.ID] = string(p.Record.CompanyID)
			return true, nil
		})
	}), service.Store.View(o.org, func(tx *store.Tx) error {
		err := service.CRM.Accounts.Table.Scan(tx, func(a store.Doc[crm.Account]) (bool, error) {
			history, err := service.CRM.Accounts.History(tx, a.ID)
			accounts[a.ID] = a.Record.Origin.SourceID
			take("accounts", a.Record.Origin.SourceID, a.Record.Origin.SourceID, string(a.Record.Website), a.JSON, history)
			return true, err
		})
		return errors.Join(err, service.CRM.Contacts.Table.Scan(tx, func(c store.Doc[crm.Contact]) (bool, error) {
			history, err := service.CRM.Contacts.History(tx, c.ID)
			take("contacts", c.Record.Origin.SourceID, accounts[c.Record.AccountID.UUID], string(c.Record.Email), c.JSON, history)
			return true, err
		}))
	}))
	if err != nil {
		t.Fatal(err)
	}
	return o.checkSummaries(s, made)
}

// checkSummaries compares the counts of the Imports with the records created, the balance and the
// charge.
func (o *importer) checkSummaries(s *server, made map[string]float64) (said string, over bool) {
	t := o.p.t
	t.Helper()
	created, previews := map[string]float64{}, map[any]bool{}
	over = true
	for _, m := range s.records(o.key, "tam/imports") {
		preview := m["preview_id"].(string)
		if id := o.imports[preview]; previews[preview] || id != "" && id != m["operation_id"] {
			t.Errorf("Preview %s refers to Import %s, which is %s", preview, id, asJSON(m))
		}
		previews[preview] = true
		for _, entity := range []string{"accounts", "contacts"} {
			created[entity] += m[entity].(map[string]any)["created"].(float64)
		}
		cost, _ := s.readPreview(o.key, preview, 1).Research["cost"].(map[string]any)
		charged, _ := m["charged"].(map[string]any)
		if !reflect.DeepEqual(cost, charged) || cost != nil && (cost["charged"] != true || cost["charged_operation_id"] != m["operation_id"]) {
			t.Errorf("the Preview costs %s, but the charge is %s", asJSON(cost), asJSON(m))
		}
		said += fmt.Sprint(" ", m["status"], m["accounts"], m["contacts"])
		over = over && m["status"] == "completed" && m["progress"] == 1.0
	}
	over = over && len(previews) == len(o.asked)
	var balance struct{ Data map[string]any }
	decodeInto(t, s.do(http.StatusOK, o.key, "GET", "/v1/tam/balance", "").body, &balance)
	for _, entity := range []string{"accounts", "contacts"} {
		used := balance.Data[entity].(map[string]any)["used"].(float64)
		if created[entity] != made[entity] || used < made[entity] || over && used != made[entity] || len(previews) < len(o.imports) {
			t.Errorf("got %v %s, the balance has %v, the Imports of %d Previews report%s", made[entity], entity, used, len(previews), said)
		}
	}
	return said, over
}

// matches compares the records with those of an organization whose Imports were not disturbed,
// except for the doubtful company, and the imported records with the members.
func (o *importer) matches(other *importer) {
	t := o.p.t
	t.Helper()
	taken := 0
	for name, want := range other.records {
		if got := o.records[name]; got != want && (o.doubtful == "" || want.company != o.doubtful) {
			t.Errorf("%s is\n%v, want\n%v", name, got, want)
		}
	}
	for name, got := range o.records {
		_, source, _ := strings.Cut(name, " ")
		if o.selected[source] {
			taken++
		} else if got.company != "" || o.doubtful == "" && other.records[name].text == "" {
			t.Errorf("%s exists: %v", name, got)
		}
	}
	if o.doubtful == "" && taken != len(o.selected) || taken < len(o.selected)-10 {
		t.Errorf("want %d selected members imported, got %d", len(o.selected), taken)
	}
}

// awaitImports waits until the Imports have finished.
func (o *importer) awaitImports(s *server) {
	o.p.t.Helper()
	for late := time.Now().Add(waitTimeout); s.total(o.key, "tam/imports", `{"filters": [{"field": "status", "condition": "is", "value": "completed"}]}`) < len(o.asked); {
		if time.Now().After(late) {
			o.p.t.Fatalf("the Imports do not finish:\n%s", s.stderr)
		}
	}
}

// TestKill9TAMImport kills the server at random times while Imports are accepted and run for two
// organizations concurrently and, in one of them, for two overlapping Previews. All Imports finish.
// No record is duplicated or missing, all records equal those of undisturbed Imports, and the
// Imports, the balance and the charge agree at all times.
func TestKill9TAMImport(t *testing.T) {
	t.Parallel()
	companies := "450"
	if apptest.RaceDetector {
		companies = "300"
	}
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	p.withoutRaceDetector().run("catalog", "generate", "--companies", companies, "--people-per-company", "3").done().ok()
	random := rand.New(rand.NewPCG(soakSeed, 14))
	s := p.serve()
	left := []*importer{p.importer(s, "Left", 1), p.importer(s, "Left with two", 2)}
	for _, o := range left {
		o.accept(s, false)
		o.awaitImports(s)
	}
	s.stop()
	s.hasNoErrors()
	var counts string
	for _, o := range left {
		said, over := o.inspect()
		if t.Log(said); !over {
			t.Fatal("the Imports have ended but are not finished")
		}
		o.matches(o)
		counts = cmp.Or(counts, said)
	}
	var now []*importer
	cut := 0
	hasEnded := func() {
		t.Helper()
		over := true
		for i, o := range now {
			said, is := o.inspect()
			if t.Logf("%s:%s", o.name, said); is {
				o.matches(left[i])
			}
			if is && i == 0 && said != counts {
				t.Errorf("the Imports report%s, want%s", said, counts)
			}
			if over = over && is; strings.Contains(said, "running") {
				cut++
			}
		}
		if over {
			now = nil
		}
	}
	s = p.serve()
	for round := range soakRounds(t, 2) {
		if now == nil {
			now = []*importer{p.importer(s, fmt.Sprint("One ", round), 1), p.importer(s, fmt.Sprint("Two ", round), 2)}
			now[0].limit(s)
		}
		var accepting sync.WaitGroup
		first := !now[0].posted
		for _, o := range now {
			accepting.Go(func() { o.accept(s, first) })
		}
		most := 30 * time.Millisecond
		if !first {
			accepting.Wait()
			now[1].suppress(s)
			awaitProgress(s, now)
			most = 50 * time.Millisecond
		}
		time.AfterFunc(time.Duration(random.Int64N(int64(most))), func() { _ = s.process.Kill() })
		accepting.Wait()
		s.ends(-1)
		p.passesCheck()
		hasEnded()
		s = p.serve()
	}
	if cut == 0 && soaking() { // a few kills may all happen between two Imports
		t.Error("no kill happened while an Import ran")
	}
	for _, o := range now {
		o.accept(s, false)
		o.awaitImports(s)
	}
	s.stop()
	s.hasNoErrors()
	if hasEnded(); now != nil {
		t.Error("the Imports have ended but are not finished")
	}
	p.passesCheck()
}

// limit sets the limits of an organization to exactly what its Imports create.
func (o *importer) limit(s *server) {
	o.p.t.Helper()
	var balance struct {
		Data struct {
			Accounts, Contacts struct {
				WouldAdd int `json:"would_add"`
			}
		}
	}
	decodeInto(o.p.t, s.do(http.StatusOK, o.key, "GET", "/v1/tam/balance?preview_id="+o.asked[0].id, "").body, &balance)
	o.p.run("org", "set", "--org", o.org.String(), "--accounts-per-month", fmt.Sprint(balance.Data.Accounts.WouldAdd), "--contacts-per-month", fmt.Sprint(balance.Data.Contacts.WouldAdd)).ok()
}

// suppress suppresses a company near the end of an Import, while the Import runs.
func (o *importer) suppress(s *server) {
	o.p.t.Helper()
	if o.doubtful != "" {
		return
	}
	companies := o.members(s, o.asked[0].id, "kind=company&existing=false")
	for i := len(companies) - 10; o.doubtful == ""; i-- {
		if website := companies[i]["data"].(map[string]any)["website"]; website != nil {
			s.do(http.StatusCreated, o.key, "POST", "/v1/suppressions", asJSON(map[string]any{"domain": website}))
			o.doubtful = companies[i]["source_id"].(string)
		}
	}
}

// awaitProgress waits until the Imports have made progress or finished.
func awaitProgress(s *server, all []*importer) {
	s.t.Helper()
	before := ""
	for late := time.Now().Add(waitTimeout); time.Now().Before(late); {
		now, over := "", true
		for _, o := range all {
			for _, m := range s.records(o.key, "tam/imports") {
				now += asJSON(m)
				over = over && m["status"] == "completed"
			}
		}
		if over || before != "" && before != now {
			return
		}
		before = now
	}
	s.t.Fatalf("the Imports make no progress:\n%s", s.stderr)
}
