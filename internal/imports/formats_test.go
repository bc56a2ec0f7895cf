package imports_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestFormats imports people from files of all formats, and gets what was skipped.
func TestFormats(t *testing.T) {
	app := apptest.New(t)
	book, err := os.ReadFile("../rows/testdata/kontakte.xlsx")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file, options, people, rejects string
	}{
		"spreadsheet": {string(book), "", "Jürgen Groß j.gross@globex.example +49 30 1234; Zoë Müller zoe@initech.example 491511234567", ""},
		"vCard": {"BEGIN:VCARD\nN:Berg;Ada\nEMAIL:a@home.example\nEMAIL;TYPE=work:a@x.example\nTEL:1\nCATEGORIES:Messe\nEND:VCARD\nBEGIN:VCARD\nNOTE:nobody\nEND:VCARD\n", "",
			"Ada Berg a@x.example 1", "First Name,Last Name,Full Name,Email,Phone,Job Title,Company,Department,Website,LinkedIn URL,City,Country,Tags,Notes,why skipped\n,,,,,,,,,,,,,nobody"},
		"JSON array": {`[{"first_name": "Ada", "name": {"x": 1}, "email": "a@x.example", "company": {"name": "Initech"}, "phone": 1},` + "\n" + `{"first_name": "Bo"}]`, "",
			"Ada  a@x.example 1; at Initech", "row,why skipped\n\"{\"\"first_name\"\": \"\"Bo\"\"}\""},
		"Google":       {"First Name,Last Name,E-mail 1 - Value,Phone,Labels\nAda,Berg,a@x.example ::: a@home.example,1 ::: 2,* myContacts ::: Messe\n", "", "Ada Berg a@x.example 1", ""},
		"Windows-1250": {"first_name,last_name,email\nJi\xf8\xed,Dvo\xf8\xe1k,j@x.example\n", "", "Jiří Dvořák j@x.example ", ""},
		"as told":      {"first_name,last_name,email\nSe\xf1a,Le\xf8,j@x.example\n", `, "encoding": "windows-1250"`, "Seńa Leř j@x.example ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			org := app.Org("Acme " + name)
			form := apptest.NewForm(c.file, `{"entity": "contacts", "create_missing": ["tags", "accounts"]`+c.options+`}`)
			form.Name = "export.csv" // the content counts
			id := org.Write.Post(path, form).Is(202).ID()
			app.Work()
			done := org.Read.Get(path + "/" + id).Is(200)
			list := org.Read.Post("/v1/contacts/list", map[string]any{"sort": "email"}).Is(200)
			var people []string
			for i := range list.Column("email") {
				at := fmt.Sprintf("data.%d.", i)
				one := ""
				for _, field := range []string{"first_name", "last_name", "email", "phone_number"} {
					value, _ := list.Value(at + field).(string)
					one += value + " "
				}
				one = one[:len(one)-1]
				people = append(people, one)
			}
			for _, account := range org.Read.Post("/v1/accounts/list", nil).Is(200).Column("name") {
				people = append(people, "at "+account)
			}
			if got := strings.Join(people, "; "); done.Text("data.status") != "completed" || got != c.people {
				t.Errorf("%q, want %q: %s", got, c.people, done.Body)
			}
			if rejects := string(org.Read.Get(path + "/" + id + "/rejects").Is(200).Body); c.rejects != "" && !strings.Contains(rejects, c.rejects) {
				t.Errorf("the rejects are %q", rejects)
			}
		})
	}

	org := app.Org("Acme")
	form := apptest.NewForm(string(book), `{"sheet": "Intern"}`)
	in := org.Read.Do("POST", path+"/inspect", form).Is(200)
	if in.Text("data.sheet") != "Intern" || in.Text("data.sheets.0") != "Kontakte" || len(in.Value("data.sheets").([]any)) != 3 || in.Text("data.encoding") != "utf-8" || in.Value("data.delimiter") != "" && in.Value("data.delimiter") != nil {
		t.Errorf("%s", in.Body)
	}
	done := org.Write.Post(path, apptest.NewForm(string(book), `{"entity": "contacts", "dry_run": true}`)).Is(202)
	if got := done.Text("data.warnings.0"); got != `only the sheet "Kontakte" was read; the file also has: Notizen, Intern` {
		t.Errorf("%s", done.Body)
	}
	unsure := org.Read.Do("POST", path+"/inspect", apptest.NewForm("name\nK\xbfl\n", `{}`)).Is(200)
	if unsure.Value("data.encoding_unsure") != true {
		t.Errorf("%s", unsure.Body)
	}
	for options, want := range map[string]string{
		`{"entity": "contacts", "sheet": "X"}`:         `no sheet \"X\"; its sheets are: Kontakte, Notizen, Intern`,
		`{"entity": "contacts", "encoding": "ebcdic"}`: `\"ebcdic\" is not one of: utf-8`,
	} {
		for _, at := range []string{path, path + "/inspect"} {
			org.Write.Do("POST", at, apptest.NewForm(string(book), options)).Fails(422, "validation_failed", strings.ReplaceAll(want, `\"`, `"`))
		}
	}
}
