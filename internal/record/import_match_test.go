package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestImportByID(t *testing.T) {
	o := newOffice(t)
	id := put(o, o.leads, `{"email": "a@x.example", "first_name": "Ada"}`)
	other, unknown := put(o, o.leads, `{"email": "b@x.example"}`), uuid.NewString()
	o.imports("id,email,first_name\n"+
		strings.ToUpper(id)+",,Eve\n"+
		unknown+",new@x.example,\n"+
		"nonsense,new@x.example,\n"+
		strings.ReplaceAll(id, "-", "")+",new@x.example,\n"+
		",c@x.example,Cy\n"+
		" "+other+" ,A@x.example,Bo\n"+
		id+",nope,\n", "email",
		"++~~===", fmt.Sprintf(`3 id: %q does not exist`, unknown), `4 id: "nonsense" does not exist`,
		fmt.Sprintf(`5 id: %q does not exist`, strings.ReplaceAll(id, "-", "")), `8 email: "nope" is not an email address`)
	// The id takes precedence over a match.
	o.has("a@x.example", `{"id": "`+id+`", "first_name": "Eve", "source": "api"}`)
	o.has("A@x.example", `{"id": "`+other+`", "first_name": "Bo", "source": "api"}`)
	o.has("c@x.example", `{"first_name": "Cy", "source": "csv"}`)
	o.imports(fmt.Sprintf("{\"id\": %q, \"phone\": \"1\"}\n{\"id\": 5}\n{\"id\": null, \"email\": \"d@x.example\"}\n{\"id\": \"\", \"email\": \"e@x.example\"}\n{\"id\": []}\n", id), "",
		"++++~", `2 id: "5" does not exist`, `5 id: "" does not exist`)
	if n := len(o.all()); n != 8 {
		t.Errorf("there are %d", n)
	}
}

// TestImportMatches checks that a row updates the oldest lead with the same match value, including
// leads from the same file.
func TestImportMatches(t *testing.T) {
	for _, c := range []struct{ match, old, same, other string }{
		{"email", "Ada@x.example", " aDA@x.EXAMPLE ", "eve@x.example"},
		{"phone", "+49 30 12", "'+4930 12", "1"},
		{"external_id", "EX-Ä", "ex-ä", "EX"},
	} {
		o := newOffice(t)
		first := put(o, o.leads, fmt.Sprintf(`{"first_name": "first", %q: %q}`, c.match, c.old))
		if c.match != "external_id" {
			put(o, o.leads, fmt.Sprintf(`{"first_name": "second", %q: %q}`, c.match, c.old))
		}
		n := len(o.all())
		o.imports(fmt.Sprintf("first_name,size,%s\nfound,,%s\nnew,,%s\nnew 2,,%s\n,x,%s\n,7,%s\nother,,\n", c.match, c.same, c.other, strings.ToLower(c.other), c.other, c.other), c.match,
			map[bool]string{true: "++~~~~", false: "++~~~="}[c.match == "external_id"], `5 size: "x" is not an integer`)
		list := o.all()
		var names []string
		for _, rec := range list {
			names = append(names, fmt.Sprint(rec["first_name"], " ", rec["source"], " ", rec["size"]))
		}
		want := []string{"found api <nil>", "second api <nil>", "new 2 csv 7", "other csv <nil>"}
		if c.match == "external_id" {
			want = slices.Delete(want, 1, 2)
		}
		if !slices.Equal(names, want) || len(list) != n+2 || list[0]["id"] != first {
			t.Errorf("%s: %q", c.match, names)
		}
	}
	// Without a match field, every row creates a lead.
	o := newOffice(t)
	o.imports("email\na@x.example\na@x.example\n", "", "++")
	// A value that another lead has is reported.
	o.imports("email,external_id\nb@x.example,E\nc@x.example,e\na@x.example,e\n", "email", "++=", `3 external_id: "e" is used by another record`, `4 external_id: "e" is used by another record`)
}

// TestImportManyOfOne checks that rows match leads created by earlier batches of the same file.
func TestImportManyOfOne(t *testing.T) {
	o := newOffice(t)
	var b strings.Builder
	b.WriteString("email,size\n")
	for i := range 2500 {
		fmt.Fprintf(&b, "l%d@x.example,%d\n", i%700, i)
	}
	r, err := o.load(b.String(), "email", nil)
	if err != nil || r.Added != 700 || r.Updated+r.Unchanged != 1800 || r.Skipped != 0 {
		t.Errorf("%d added, %d updated, %v, %v", r.Added, r.Updated, r.skipped, err)
	}
	o.has("l399@x.example", `{"size": 2499}`)
	o.has("l400@x.example", `{"size": 1800}`)
}

func TestImportTags(t *testing.T) {
	o := newOffice(t)
	vip, hot, cold := put(o, o.labels, `{"name": "VIP  Guest", "for": "lead"}`), put(o, o.labels, `{"name": "hot", "for": "lead"}`), put(o, o.labels, `{"name": "cold", "for": "lead"}`)
	big := put(o, o.labels, `{"name": "big", "for": "firm"}`)
	tags := func(ids ...string) string { return `{"tags": ["` + strings.Join(ids, `", "`) + `"]}` }
	o.imports("email,tags\na@x.example, vip guest;HOT\nb@x.example,"+hot+"| Vip Guest |"+strings.ToUpper(hot)+"\nc@x.example,\n", "", "+++")
	o.has("a@x.example", tags(vip, hot))
	o.has("b@x.example", tags(hot, vip))
	o.has("c@x.example", `{"tags": []}`)
	o.imports("email,tags\nd@x.example,tepid\nd@x.example,big\nd@x.example,"+big+"\nd@x.example,hot|tepid|mild\nd@x.example,"+uuid.Nil.String()+"\n", "", "+++++",
		`2 tags: "tepid" is not the name of a label; create_missing can create it`,
		`3 tags: "big" is not the name of a label; create_missing can create it`, // that is one for firms
		fmt.Sprintf(`4 tags: %q does not exist`, big),
		`5 tags: "tepid" is not the name of a label; create_missing can create it`,
		`5 tags: "mild" is not the name of a label; create_missing can create it`,
		fmt.Sprintf(`6 tags: %q does not exist`, uuid.Nil))
	// A new lead accepts tags, add_tags and remove_tags as well.
	o.imports("email,add_tags,remove_tags\na@x.example,cold,Hot\nb@x.example,,hot\nc@x.example,"+cold+",\ne@x.example,hot|cold,vip guest\nf@x.example,tepid,\n", "email", "++~~~",
		`6 add_tags: "tepid" is not the name of a label; create_missing can create it`)
	o.has("a@x.example", tags(vip, cold))
	o.has("b@x.example", tags(vip))
	o.has("c@x.example", tags(cold))
	o.has("e@x.example", tags(hot, cold))
	o.existingTags = "replace"
	o.imports("email,tags,add_tags\na@x.example,hot,cold\ng@x.example,hot,cold\n", "email", "+~")
	o.has("a@x.example", tags(hot, cold))
	o.has("g@x.example", tags(hot, cold))
	o.imports(fmt.Sprintf(`{"email": "a@x.example", "tags": ["vip guest", %q]}`, cold)+"\n"+
		`{"email": "b@x.example", "tags": []}`+"\n"+`{"email": "c@x.example", "add_tags": ["HOT"], "remove_tags": ["cold"]}`+"\n"+`{"email": "c@x.example", "tags": ["hot", "tepid"]}`, "email", "~~~=",
		`4 tags: "tepid" is not the name of a label; create_missing can create it`)
	o.has("a@x.example", tags(vip, cold))
	o.has("b@x.example", `{"tags": []}`)
	o.has("c@x.example", tags(hot))
	o.existingTags = "add"
	o.imports("email,tags\na@x.example,hot\nb@x.example,\nc@x.example,hot\n", "email", "~==")
	o.has("a@x.example", tags(vip, cold, hot))
	o.imports("email,add_tags,remove_tags\na@x.example,hot,hot\n", "email", "", fmt.Sprintf("2: remove_tags: %s is also in add_tags", hot))
}

// TestImportReferences refers to a firm by its id, website and external id.
func TestImportReferences(t *testing.T) {
	o := newOffice(t)
	first := put(o, o.firms, `{"name": "First", "website": "acme.example", "external_id": "F-1"}`)
	second := put(o, o.firms, `{"name": "Second", "website": "www.acme.example"}`)
	o.imports("email,firm_id\n1@x.example,"+second+"\n2@x.example,"+uuid.Nil.String()+"\n3@x.example,First\n", "", "+++",
		fmt.Sprintf("3 firm_id: %q does not exist", uuid.Nil), `4 firm_id: "First" is neither an id nor a known name`)
	o.has("1@x.example", `{"firm_id": "`+second+`"}`)
	o.imports("email,Firm Website\n4@x.example, HTTPS://www.Acme.example/about\n5@x.example,beta.example\n6@x.example,no website\n7@x.example,\n8@x.example,"+first+"\n", "", "+++++",
		`3 Firm Website: "beta.example" belongs to no firm; create_missing can create it`, `4 Firm Website: "no website" belongs to no firm; create_missing can create it`,
		fmt.Sprintf("6 Firm Website: %q belongs to no firm; create_missing can create it", first))
	o.has("4@x.example", `{"firm_id": "`+first+`"}`) // the oldest of two
	o.has("7@x.example", `{"firm_id": null}`)
	o.imports("email,firm_external_id\n12@x.example,f-1\n9@x.example,F-2\n", "", "++", `3 firm_external_id: "F-2" belongs to no firm; create_missing can create it`)
	o.has("12@x.example", `{"firm_id": "`+first+`"}`)
	o.imports(`{"email": "10@x.example", "firm_website": "acme.example"}`+"\n"+`{"email": "11@x.example", "firm_external_id": "x"}`, "", "++", `2 firm_external_id: "x" belongs to no firm; create_missing can create it`)
	o.has("10@x.example", `{"firm_id": "`+first+`"}`)
	// References of an existing lead can be changed in the same way.
	o.imports("email,firm_external_id\n1@x.example,F-1\n", "email", "~")
	o.has("1@x.example", `{"firm_id": "`+first+`"}`)
}

// TestImportNested sets one member of a nested object and checks that the others stay.
func TestImportNested(t *testing.T) {
	o := newOffice(t)
	o.imports("email,heat.score,Heat.Since\na@x.example,hot,2026-01-31\nb@x.example,,2026-01-31\nc@x.example,,\nd@x.example,tepid,soon\n", "", "++++",
		`5 Heat.Since: "soon" is not a date such as 2026-03-01`, `5 heat.score: "tepid" is not one of: hot, cold`)
	o.has("a@x.example", `{"heat": {"score": "hot", "since": "2026-01-31"}}`)
	o.has("b@x.example", `{"heat": {"score": null, "since": "2026-01-31"}}`)
	o.has("c@x.example", `{"heat": {"score": null, "since": null}}`)
	o.imports("email,heat.score\na@x.example,cold\n", "email", "~")
	o.imports(`{"email": "b@x.example", "heat": {"score": "cold"}}`, "email", "~")
	o.has("a@x.example", `{"heat": {"score": "cold", "since": "2026-01-31"}}`)
	o.has("b@x.example", `{"heat": {"score": "cold", "since": "2026-01-31"}}`)
}
