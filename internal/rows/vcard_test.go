package rows_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"prospector/internal/rows"
)

func TestCards(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string // what is not empty: column=value
	}{
		"4.0": {"BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Dr. Zoë Müller\r\nN:Müller;Zoë;;Dr.;\r\nEMAIL;TYPE=home:zoe@home.example\r\nEMAIL;TYPE=work;PREF=2:z@x.example\r\nEMAIL;PREF=1:first@x.example\r\n" +
			"TEL;VALUE=uri;TYPE=\"voice,work\":tel:+49-30-1\r\nORG:Initech\\, Inc.;Sales\r\nTITLE:CTO\r\nADR;TYPE=work:;;Main St. 1;Berlin;;10115;Germany\r\nURL:https://initech.example\r\nURL:https://www.linkedin.com/in/zoe\r\n" +
			"CATEGORIES:Fair,Key\\, account\r\nNOTE:two\\nlines\r\nUID:urn:uuid:1\r\nEND:VCARD\r\n",
			[]string{"First Name=Zoë", "Last Name=Müller", "Email=first@x.example ::: z@x.example ::: zoe@home.example", "Phone=+49-30-1", "Job Title=CTO", "Company=Initech, Inc.", "Department=Sales",
				"Website=https://initech.example", "LinkedIn URL=https://www.linkedin.com/in/zoe", "City=Berlin", "Country=Germany", "Tags=Fair,Key, account", "Notes=two\nlines"}},
		"3.0, as Apple writes it": {"begin:vcard\nVERSION:3.0\nN:Berg;Ada;;;\nFN:Ada Berg\nitem1.EMAIL;type=INTERNET;type=HOME:a@home.example\nitem2.EMAIL;type=INTERNET;type=WORK;type=pref:a@wo\n rk.example\nTEL;type=HOME;type=FAX:1\nTEL;type=CELL:2\nTEL;type=WORK:3\n" +
			"X-SOCIALPROFILE;type=linkedin:http://www.linkedin.com/in/ada\nPHOTO;ENCODING=b;TYPE=JPEG:" + strings.Repeat("\n aGVsbG8gd29ybGQ=", 40) + "\nEND:VCARD",
			[]string{"First Name=Ada", "Last Name=Berg", "Email=a@work.example ::: a@home.example", "Phone=3 ::: 2", "LinkedIn URL=http://www.linkedin.com/in/ada"}},
		"2.1, quoted-printable": {"BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=BC=\r\nrgen\r\nEMAIL;PREF;INTERNET:j@x.example\r\nTEL;WORK;VOICE:030 1\r\nORG;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:Gr=F6ger;\r\n" +
			"NOTE;ENCODING=QUOTED-PRINTABLE:a=0D=0Ab=E9\r\nTITLE:Head of\r\n  Sales\r\nEND:VCARD\r\n",
			[]string{"First Name=Jürgen", "Last Name=Müller", "Email=j@x.example", "Phone=030 1", "Job Title=Head of  Sales", "Company=Gröger", "Notes=a\r\nbé"}},
		"a charset that nobody reads": {"BEGIN:VCARD\nFN;CHARSET=ISO-2022-KR;ENCODING=QUOTED-PRINTABLE:Ada =42erg\nEND:VCARD\n", []string{"Full Name=Ada Berg"}},

		"a company":        {"BEGIN:VCARD\nFN:Initech\nORG:Initech\nEMAIL:info@initech.example\nEND:VCARD\n", []string{"Email=info@initech.example", "Company=Initech"}},
		"only a full name": {"BEGIN:VCARD\nFN:Ada Berg\nN:;;;;\nEND:VCARD\n", []string{"Full Name=Ada Berg"}},
		"an agent":         {"BEGIN:VCARD\nN:Berg;Ada\nAGENT:\nBEGIN:VCARD\nN:Lum;Bo\nEND:VCARD\nEND:VCARD\n", []string{"First Name=Ada", "Last Name=Berg"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(c.text), onebyte{strings.NewReader("\ufeff\n" + c.text)}} {
				r, table, err := read(t, in, rows.Options{})
				if err != nil || len(table) != 1 || table[0].Err != nil {
					t.Fatal(describeAll(table), err)
				}
				var got []string
				for i, cell := range table[0].Cells {
					if cell != "" {
						got = append(got, r.Columns[i]+"="+cell)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%q\nwant %q", got, c.want)
				}
			}
		})
	}
	_, table, err := read(t, strings.NewReader("BEGIN:VCARD\nFN:Ada Berg\nEND:VCARD\n\nBEGIN:VCARD\nFN:Bo Lum\nEND:VCARD\nBEGIN:VCARD\nFN:C"), rows.Options{})
	if err != nil || len(table) != 3 || table[0].Line != 1 || table[1].Line != 5 || table[2].Line != 8 || table[2].Err == nil {
		t.Errorf("%q, %v", describeAll(table), err)
	}
}

// TestArrays reads JSON arrays, however they are broken into lines.
func TestArrays(t *testing.T) {
	for text, want := range map[string]string{
		`[{"a": 1}, {"a": "x]},{\"\\"}]`:                     `1 {a} 1 {a}`,
		"[\n  {\n    \"a\": {\"b\": [1]}\n  },\n  {}\n]\n\n": `2 {a} 5 {}`,
		"\ufeff [ ]":                        ``,
		"[]":                                ``,
		`[{"a": 1}{"b": 2}]`:                `1 {a} 1 {b}`,
		"[{\"a\": 1},\n7, \"x\",\n{}]":      `1 {a} 2! 2! 3 {}`,
		"[{\"a\": 1},\n{\"a\" 2},\n{}]":     `1 {a} 2! 3 {}`,
		"[{\"a\": 1},\n{\"a\"":              `1 {a} truncated`,
		"[{\"a\": 1}] x":                    `1 {a} line 1: unexpected text after the end`,
		"[{\"a\": 1},\n\n\n{\"b\": 1}\n]\n": `1 {a} 4 {b}`,
		`[{"entity": "contacts", "record": {"id": 1}}, {"entity": "tags", "record": {"id": 2}}]`: `1 {id}`,
	} {
		for _, in := range []io.Reader{strings.NewReader(text), onebyte{strings.NewReader(text)}} {
			_, table, err := read(t, in, rows.Options{Entity: "contacts", Lines: true})
			var got []string
			for _, row := range table {
				if row.Err != nil {
					got = append(got, fmt.Sprintf("%d!", row.Line))
				} else {
					got = append(got, fmt.Sprintf("%d {%s}", row.Line, strings.Join(keys(row.Object), " ")))
				}
			}
			shown := strings.Join(got, " ")
			if err != nil {
				shown = strings.TrimSpace(shown + " " + err.Error())
			}
			if !strings.HasPrefix(shown, want) || err == nil && shown != want {
				t.Errorf("%q is %s, want %s", text, shown, want)
			}
		}
	}
	large := `[{"a": "` + strings.Repeat("x", 9<<20) + `"}, {"b": 1}]`
	if _, table, err := read(t, strings.NewReader(large), rows.Options{}); err != nil || len(table) != 2 || table[0].Err == nil || table[1].Err != nil {
		t.Errorf("%d rows, %v", len(table), err)
	}
}

// FuzzCards puts arbitrary lines into a card. The cards around it are read.
func FuzzCards(f *testing.F) {
	for _, seed := range []string{"", "N:a;b;c\\;d", "EMAIL;TYPE=\"a:b\":x", "NOTE;ENCODING=QUOTED-PRINTABLE:=C3=\n=BC=", "END:VCARD", "BEGIN:VCARD", ";:;", "a\n \n\t:\n", "TEL;PREF=x;CHARSET=koi8-r;QUOTED-PRINTABLE:=ff", "\xff\xfe"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, dirt []byte) {
		if len(dirt) > 4096 {
			return
		}
		_, table, err := read(t, strings.NewReader("BEGIN:VCARD\nFN:Ada Berg\nEND:VCARD\nBEGIN:VCARD\n"+string(dirt)+"\nEND:VCARD\nEND:VCARD\nBEGIN:VCARD\nFN:Bo Lum\nEND:VCARD\n"), rows.Options{Encoding: "utf-8"})
		if err != nil || len(table) < 2 || table[0].Cells[2] != "Ada Berg" {
			t.Fatalf("%q, %v", describeAll(table), err)
		}
		for i, row := range table {
			if row.Err == nil && len(row.Cells) != len(table[0].Cells) || i > 0 && row.Line <= table[i-1].Line {
				t.Fatalf("%q", describeAll(table))
			}
		}
	})
}
