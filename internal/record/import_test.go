package record_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/filter"
	"prospector/internal/record"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

type firm struct {
	record.Head
	Name       string     `json:"name" rule:"required"`
	Website    shape.Text `json:"website" rule:"format=domain"`
	ExternalID shape.Text `json:"external_id"`
}

// label is a tag for leads or for firms.
type label struct {
	record.Head
	Name string `json:"name" rule:"required"`
	For  string `json:"for" rule:"required"`
}

type heat struct {
	Score shape.Text `json:"score" rule:"enum=hot|cold"`
	Since shape.Date `json:"since"`
}

// lead has a field of every type.
type lead struct {
	record.Head
	FirmID     uuid.NullUUID `json:"firm_id" rule:"ref=firms"`
	FirstName  shape.Text    `json:"first_name" rule:"maxlen=40"`
	Email      shape.Text    `json:"email" rule:"format=email"`
	Phone      shape.Text    `json:"phone"`
	Size       shape.Number  `json:"size" rule:"integer,min=0"`
	Ratio      shape.Number  `json:"ratio"`
	Active     bool          `json:"active"`
	Since      shape.Date    `json:"since"`
	SeenAt     shape.Time    `json:"seen_at"`
	Stage      string        `json:"stage" rule:"default=new,enum=new|old"`
	Source     string        `json:"source" rule:"fixed,default=api,enum=api|csv"`
	Heat       heat          `json:"heat"`
	ExternalID shape.Text    `json:"external_id"`
	Tags       shape.IDs     `json:"tags" rule:"ref=labels,maxlen=3,edits"`
	Custom     shape.Custom  `json:",embed"`
}

// office is a store into which leads are imported.
type office struct {
	t       *testing.T
	st      *store.Store
	org     uuid.UUID
	set     *record.Set
	firms   *record.Kind[firm]
	labels  *record.Kind[label]
	leads   *record.Kind[lead]
	customs *filter.CustomFields

	existingTags string // of the imports
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, org: uuid.New(), set: &record.Set{}, customs: filter.NoCustomFields}
	var err error
	if o.st, err = store.Open(t.TempDir(), store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.st.Close(); err != nil {
			t.Error(err)
		}
	})
	var fields []shape.CustomField
	for _, f := range []struct {
		typ     shape.Type
		allowed []string
	}{{shape.TypeText, nil}, {shape.TypeNumber, nil}, {shape.TypeBoolean, nil}, {shape.TypeDate, nil}, {shape.TypeEnum, []string{"gold", "=1"}}, {shape.TypeMulti, []string{"red", "deep blue", "-1"}}} {
		fields = append(fields, shape.NewCustomField(uuid.New(), string(f.typ), string(f.typ), f.typ, f.allowed))
	}
	o.customs = filter.NewCustomFields(fields)
	customs := func(*store.Tx, string) (*filter.CustomFields, error) { return o.customs, nil }
	o.firms = record.Add(o.set, record.Rules[firm]{Object: "firm", Entity: "firms", Match: record.MatchRules{Fields: map[string]func(string) string{"website": address.HostOf}}})
	named := func(name, object string) []byte {
		return []byte(object + "\x00" + strings.Join(strings.Fields(shape.Fold(name)), " "))
	}
	o.labels = record.Add(o.set, record.Rules[label]{
		Object: "label", Entity: "labels", Names: &record.NameRules{Key: named},
		Unique: []store.Unique[label]{{Name: "name", Of: func(l *label) []byte { return named(l.Name, l.For) }, Taken: func(*label, []byte, uuid.UUID) error { return errBroken }}},
		CheckReference: func(l *label, object string) string {
			if l.For != object {
				return "is for another"
			}
			return ""
		},
	})
	o.leads = record.Add(o.set, record.Rules[lead]{Object: "lead", Entity: "leads", Customs: customs, Match: record.MatchRules{Fields: map[string]func(string) string{
		"email": shape.Fold,
		"phone": func(s string) string { return strings.ReplaceAll(s, " ", "") },
	}}})
	return o
}

// put creates a record and returns its id.
func put[T any](o *office, k *record.Kind[T], body string) string {
	o.t.Helper()
	var id uuid.UUID
	err := o.st.Update(o.t.Context(), o.org, store.Actor{}, func(tx *store.Tx) error {
		d, err := k.Create(tx, record.NewDraft[T](object(o.t, body)))
		id = d.ID
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return id.String()
}

// result is the outcome of an import.
type result struct {
	rows.Report
	Warnings []string
	skipped  []string // lines and reasons
	dropped  []string // lines, columns, values and reasons
}

// load imports a table of leads. match is empty for none.
func (o *office) load(text, match string, mapping map[string]string) (result, error) {
	o.t.Helper()
	return o.importWith(text, record.ImportOptions{Mapping: mapping, MatchOn: cmp.Or(match, record.MatchNone), ExistingTags: o.existingTags})
}

func (o *office) importWith(text string, options record.ImportOptions) (r result, err error) {
	o.t.Helper()
	table, err := rows.Open(strings.NewReader(text), rows.Options{})
	if err != nil {
		o.t.Fatal(err)
	}
	var im *record.Importer
	err = o.st.View(o.org, func(tx *store.Tx) (err error) {
		im, err = o.leads.NewImporter(tx, table, options)
		return err
	})
	if err != nil {
		return r, err
	}
	err = rows.Load(o.t.Context(), table, func(table []rows.Row) (b *record.ImportBatch, err error) {
		err = o.st.View(o.org, func(tx *store.Tx) error {
			b, err = im.Prepare(tx, table, func() {})
			return err
		})
		return b, err
	}, func(b *record.ImportBatch) error {
		return o.st.Update(o.t.Context(), o.org, store.Actor{}, func(tx *store.Tx) error {
			outcomes, err := im.Write(tx, b)
			for i, out := range outcomes {
				r.Report.Add(&b.Rows[i], &out)
				if out.Skipped != "" {
					r.skipped = append(r.skipped, fmt.Sprint(b.Rows[i].Line, ": ", out.Skipped))
					continue
				}
				for _, d := range out.Dropped {
					r.dropped = append(r.dropped, fmt.Sprintf("%d %s: %q %s", b.Rows[i].Line, d.Column, d.Value, d.Message))
				}
			}
			return err
		})
	})
	r.Warnings = im.Warnings()
	return r, err
}

// imports imports a table and compares the outcome: want has "+", "~" and "=" for each added, updated and unchanged
// row, followed by the skipped rows and the dropped values.
func (o *office) imports(text, match string, want ...string) result {
	o.t.Helper()
	r, err := o.load(text, match, nil)
	if err != nil {
		o.t.Fatalf("%s: %v", text, err)
	}
	o.hasResult(text, r, want)
	return r
}

func (o *office) hasResult(text string, r result, want []string) {
	o.t.Helper()
	got := []string{strings.Repeat("+", r.Added) + strings.Repeat("~", r.Updated) + strings.Repeat("=", r.Unchanged)}
	got = append(append(got, r.skipped...), r.dropped...)
	if !slices.Equal(got, want) {
		o.t.Errorf("%s\nis %q\nwant %q", text, got, want)
	}
}

// all returns the leads in order of creation.
func (o *office) all() (list []map[string]any) {
	o.t.Helper()
	err := o.st.View(o.org, func(tx *store.Tx) error {
		return o.leads.Table.Scan(tx, func(d store.Doc[lead]) (bool, error) {
			rec := map[string]any{"change": d.Change}
			list = append(list, rec)
			return true, json.Unmarshal(d.JSON, &rec)
		})
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return list
}

// has checks that the lead with the email, or the last one, has the members.
func (o *office) has(email, want string) {
	o.t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(want), &members); err != nil {
		o.t.Fatal(err)
	}
	list := o.all()
	i := slices.IndexFunc(list, func(rec map[string]any) bool { return rec["email"] == email })
	if email == "" {
		i = len(list) - 1
	}
	if i < 0 {
		o.t.Errorf("there is no %s", email)
		return
	}
	for key, v := range members {
		if got := list[i][key]; !reflect.DeepEqual(got, v) {
			o.t.Errorf("%s of %s is %v, want %v", key, email, got, v)
		}
	}
}

// TestImportColumns checks that a column has the name of its field, a variant of it, or is mapped
// to it.
func TestImportColumns(t *testing.T) {
	o := newOffice(t)
	for header, field := range map[string]string{
		"first_name": "first_name", "First Name": "first_name", "FIRST_NAME": "first_name", " first   name ": "first_name", "first-name": "first_name", "First-name": "first_name",
		"External ID": "external_id", "Custom Field Text": "custom_field_text", "custom_field_text": "custom_field_text",
	} {
		o.imports("email,"+header+"\nx@x.example,"+header+" it is\n", "email", map[bool]string{true: "+", false: "~"}[len(o.all()) == 0])
		o.has("x@x.example", fmt.Sprintf(`{%q: "%s it is"}`, field, header))
	}
	r, err := o.load("Mail,Who?,Kind;of\nmapped@x.example,Ada,red|deep blue\n", "", map[string]string{"Mail": "email", "Who?": "first_name", "Kind;of": "custom_field_multi"})
	if err != nil || r.Added != 1 || len(r.Warnings) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	o.has("mapped@x.example", `{"first_name": "Ada", "custom_field_multi": ["red", "deep blue"]}`)
	// A column with the name of one field can be mapped to another.
	r, err = o.load("email,first_name\nother@x.example,555\n", "", map[string]string{"first_name": "phone"})
	if err != nil || r.Added != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	o.has("other@x.example", `{"first_name": null, "phone": "555"}`)
	// The same holds for JSON lines, also if not every line has the key.
	r, err = o.load(`{"Mail": "json@x.example", "First Name": "J"}`+"\n"+`{"phone": "1"}`, "", map[string]string{"Mail": "email"})
	if err != nil || r.Added != 2 || len(r.Warnings) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	o.has("json@x.example", `{"first_name": "J"}`)
}

// TestImportMappedWins checks that a mapped column takes precedence over one with the name of the
// field: an export has both an id and an external_id.
func TestImportMappedWins(t *testing.T) {
	for _, text := range []string{"id,external_id,email\nID-1,,a@x.example\n", `{"id": "ID-1", "external_id": null, "email": "a@x.example"}`, `{"id": "ID-1", "external_id": "EX-1", "email": "a@x.example"}`, "id,external_id,email\nID-1,EX-1,a@x.example\n"} {
		o := newOffice(t)
		r, err := o.load(text, "", map[string]string{"id": "external_id"})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		o.hasResult(text, r, []string{"+"})
		o.has("a@x.example", `{"external_id": "ID-1"}`)
	}
}

func TestImportBadColumns(t *testing.T) {
	o := newOffice(t)
	for _, c := range []struct {
		text    string
		renamed map[string]string
		want    string
	}{
		{"a,b\n", nil, "no column is a field of leads: a, b; map the columns to fields"},
		{"created_at,source\n", nil, "no column is a field of leads"},
		{"email,x\n", map[string]string{"x": "nope"}, `"x" is mapped to "nope", which is not an importable field of leads; use one of: active, add_tags, custom_field_boolean, custom_field_date,`},
		{"email,x\n", map[string]string{"x": "created_at"}, `"x" is mapped to "created_at", which is not an importable field`},
		{"email,x\n", map[string]string{"x": "source"}, `"x" is mapped to "source", which is not an importable field`},
		{"email,x\n", map[string]string{"x": "custom_field_gone"}, `which is not an importable field of leads`},
		{"email,x\n", map[string]string{"x": "heat"}, `which is not an importable field of leads`},
		{"email,x\n", map[string]string{"y": "phone"}, `"y" is mapped, but the file does not have it; its columns are: email, x`},
		{"{}\n", map[string]string{"y": "nope"}, `"y" is mapped to "nope"`},
	} {
		t.Run(c.want, func(t *testing.T) {
			if _, err := o.load(c.text, "", c.renamed); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s with %v: %v, want %s", c.text, c.renamed, err, c.want)
			}
		})
	}
	if list := o.all(); len(list) != 0 {
		t.Error(list)
	}
}

// TestImportWarnings checks that each ignored column is reported once.
func TestImportWarnings(t *testing.T) {
	o := newOffice(t)
	want := []string{
		`column "shoe size" was ignored: leads have no such field`,
		`a column without a name was ignored`,
		`column "custom_field_gone" was ignored: leads have no such field`,
	}
	r := o.imports("email,created_at,source,shoe size,,custom_field_gone,shoe size,\na@x.example,never,tam,44,x,y,45,z\n", "", "+")
	if !slices.Equal(r.Warnings, want) {
		t.Errorf("%q", r.Warnings)
	}
	o.has("a@x.example", `{"source": "csv"}`)
	line := `{"email": "%s@x.example", "created_at": 5, "source": "api", "shoe size": [1], "": 1, "custom_field_gone": true}` + "\n"
	r = o.imports(fmt.Sprintf(line+line, "b", "c"), "", "++")
	if !slices.Equal(r.Warnings, want) {
		t.Errorf("%q", r.Warnings)
	}
	o.has("c@x.example", `{"source": "csv"}`)
	// The spelling of a column does not matter, nor whether another column is mapped to its field.
	r, err := o.load("Created At,email,Phone,Source,tel\nx,d@x.example,1,api,2\n", "", map[string]string{"tel": "phone"})
	want = []string{`column "Phone" was ignored: another column sets this field`}
	if err != nil || r.Added != 1 || !slices.Equal(r.Warnings, want) {
		t.Errorf("%+v, %v", r, err)
	}
	o.has("d@x.example", `{"phone": "2", "source": "csv"}`)
	// Only the first of many are reported by name.
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `{"email": "e@x.example", "key %d": {"a": 1}, "key": 1, "heat": null}`+"\n", i)
	}
	r, err = o.load(b.String(), "email", nil)
	if err != nil || r.Added != 1 || r.Updated+r.Unchanged != 2999 || len(r.Warnings) != 51 || r.Warnings[50] != "2951 more columns were ignored" ||
		r.Warnings[49] != `column "key 48.a" was ignored: leads have no such field` {
		t.Errorf("%d added, %d updated, %q, %v", r.Added, r.Updated, r.Warnings, err)
	}
}
