package rows

import (
	"slices"
	"strings"
	"testing"

	"prospector/internal/shape"
)

func TestNumbers(t *testing.T) {
	comma := Style{Comma: true}
	for _, c := range []struct {
		text  string
		style Style
		want  float64
	}{
		{"1250.5", english, 1250.5}, {"1,250.50", english, 1250.5}, {"1.250,50", english, 1250.5}, {"1.250,50", comma, 1250.5}, {"1.250", comma, 1250}, {"1.250", english, 1.25},
		{"1,250", english, 1250}, {"1,250", comma, 1.25}, {"1.250.000", english, 1250000}, {"1 250,5", comma, 1250.5}, {"1\u202f250", comma, 1250}, {"1'250.50", english, 1250.5},
		{"51-200", english, 51}, {"51 – 200", english, 51}, {"51 to 200", english, 51}, {"51 bis 200 Mitarbeiter", comma, 51}, {"11 à 50", comma, 11}, {"1,001-5,000 employees", english, 1001},
		{"1,200+", english, 1200}, {"10.001+", comma, 10001}, {"> 10.000", comma, 10000}, {"ca. 50", english, 50}, {"~30", english, 30}, {"über 500", comma, 500},
		{"$5M", english, 5e6}, {"$1M-$10M", english, 1e6}, {"$1-10M", english, 1e6}, {"10k", english, 1e4}, {"1,2 Mio. €", comma, 1.2e6}, {"€ 3,5 Mrd.", comma, 3.5e9}, {"2 mil millones", comma, 2e9}, {"USD 1.2B", english, 1.2e9},
		{"5 M€", comma, 5e6}, {"-5", english, -5}, {"-$5", english, -5}, {"1e3", english, 1000}, {"1.250,50 EUR", comma, 1250.5}, {"007", english, 7},
	} {
		if got, ok := parseNumber(c.text, c.style); !ok || got != c.want {
			t.Errorf("%q is %v, %t; want %v", c.text, got, ok, c.want)
		}
	}
	for _, text := range []string{"", "many", "k.A.", "12 apples", "1,2,3", "1.2.3", "2025-11-03", "0x10", "12:30", "5%!", "--", strings.Repeat("9", 100), "1 2 3 x"} {
		if got, ok := parseNumber(text, english); ok {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestDates(t *testing.T) {
	day := Style{DayFirst: true}
	for _, c := range []struct {
		text  string
		style Style
		want  string
	}{
		{"2025-11-03", english, "2025-11-03"}, {"2025-11-03T10:12:00Z", english, "2025-11-03"}, {"2025-11-03 10:12", english, "2025-11-03"}, {"2025/11/3", english, "2025-11-03"}, {"20251103", english, "2025-11-03"},
		{"03.11.2025", english, "2025-11-03"}, {"3.11.25", english, "2025-11-03"}, {"03.11.2025 14:30", day, "2025-11-03"}, {"11/3/2025", english, "2025-11-03"}, {"03/11/2025", day, "2025-11-03"},
		{"25/03/2025", english, "2025-03-25"}, {"03/25/2025", day, "2025-03-25"}, {"11/3/2025 10:12 AM", english, "2025-11-03"}, {"03-11-2025", day, "2025-11-03"}, {"1.1.99", day, "1999-01-01"},
		{"3 Nov 2025", english, "2025-11-03"}, {"03-Nov-25", english, "2025-11-03"}, {"Nov 3, 2025", english, "2025-11-03"}, {"November 3rd, 2025", english, "2025-11-03"}, {"3. November 2025", day, "2025-11-03"},
		{"3 de noviembre de 2025", day, "2025-11-03"}, {"3 juillet 2025", day, "2025-07-03"}, {"1er août 2025", day, "2025-08-01"}, {"12. März 2025", day, "2025-03-12"}, {"Mon, 3 Nov 2025", english, "2025-11-03"},
	} {
		if got, ok := parseDate(c.text, c.style); !ok || got != c.want {
			t.Errorf("%q is %q, %t; want %s", c.text, got, ok, c.want)
		}
	}
	for _, text := range []string{"", "soon", "31.02.2025", "13/13/2025", "2025", "2025-13-01", "12345", "80001", "3 Foo 2025", "k.A."} {
		if got, ok := parseDate(text, english); ok {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

func TestStyles(t *testing.T) {
	for _, c := range []struct {
		locale string
		want   Style
	}{
		{"de", Style{Comma: true, DayFirst: true}}, {"de-CH", Style{Comma: false, DayFirst: true}}, {"en", Style{}}, {"en-US", Style{}}, {"en-GB", Style{Comma: false, DayFirst: true}}, {"fr", Style{Comma: true, DayFirst: true}}, {"es", Style{Comma: true, DayFirst: true}}, {"es-MX", Style{Comma: false, DayFirst: true}},
	} {
		if got, err := ParseLocale(c.locale); err != nil || got != c.want {
			t.Errorf("%s is %+v, %v", c.locale, got, err)
		}
	}
	for _, locale := range []string{"", "german!", "xx-", "1"} {
		if got, err := ParseLocale(locale); err == nil {
			t.Errorf("%q is %+v", locale, got)
		}
	}
}

func TestEmails(t *testing.T) {
	for text, want := range map[string][]string{
		"a@x.example": {"a@x.example"}, "mailto:a@x.example?subject=x": {"a@x.example"}, "MAILTO:a@x.example": {"a@x.example"}, "Ada Berg <a@x.example>": {"a@x.example"}, `"Berg, Ada" <a@x.example>`: {"a@x.example"},
		"a@x.example; b@x.example": {"a@x.example", "b@x.example"}, "a@x.example, a@x.example": {"a@x.example"}, "a@x.example / b@x.example": {"a@x.example", "b@x.example"}, "\u200ba@x.example\u00a0": {"a@x.example"}, "<a@x.example>": {"a@x.example"},
		"Ada (a@x.example)": {"a@x.example"}, "a@x.example.": {"a@x.example"}, "a@x.example b@x.example a@x.example": {"a@x.example", "b@x.example"},
		"private: a@x.example, work: b@x.example": {"a@x.example", "b@x.example"},
	} {
		if first, others, ok := Email(text); !ok || !slices.Equal(append([]string{first}, others...), want) {
			t.Errorf("%q has %q, %q", text, first, others)
		}
	}
	for _, text := range []string{"", "none", "a@", "@x.example", "a@@x.example", "a at x.example", "ada berg@x.example", "a@x.example private", "max@gmail.co m"} {
		if first, _, ok := Email(text); ok {
			t.Errorf("%q has %q", text, first)
		}
	}
}

func TestTransliterate(t *testing.T) {
	for text, want := range map[string]string{
		"Großkunde": "Grosskunde", "Schlüssel": "Schluessel", "Fidèle": "Fidele", "Señal": "Senal", "A/B-Test": "A B Test", "L'Oréal": "LOreal", "Łódź": "Lodz", " a  b ": "a b", "日本": "", "🚀 Start": "Start", "Ⅷ": "VIII",
	} {
		if got := Transliterate(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestInspect(t *testing.T) {
	fields := Fields[*Target]{Entity: "contacts", Targets: map[string]*Target{}}
	for _, key := range []string{"first_name", "last_name", "email", "linkedin_url", "external_id"} {
		fields.Targets[key] = &Target{Column: key, Member: key, Field: shape.Field{Key: key, Type: shape.TypeText}}
	}
	full := FullName()
	fields.Targets[full.Column] = &full
	table, err := Open(strings.NewReader("Vorname;Name;Wohin schreiben;Beitritt;Größe;Aktiv;PLZ;Umsatz;Leer\n"+
		"Ada;Berg;ada@x.example;03.11.2025;170;ja;01067;1.250,50;\nBo;Lum;bo@x.example;4.12.2024;181,5;nein;20095;12;\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := Inspect(table, nil, Writing{}, fields)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range in.Columns {
		got = append(got, c.Name+" "+c.Field+" "+string(c.Confidence))
	}
	want := []string{"Vorname first_name known", "Name last_name known", "Wohin schreiben email guessed", "Beitritt  ", "Größe  ", "Aktiv  ", "PLZ  ", "Umsatz  ", "Leer  "}
	if !slices.Equal(got, want) || in.Delimiter != ";" || in.Encoding != "utf-8" || in.Mapping["Name"] != "last_name" || in.Columns[0].Samples[1] != "Bo" {
		t.Errorf("%q\n%+v", got, in)
	}
	got = nil
	for _, f := range in.CustomFields {
		got = append(got, f.Key+" "+f.Label+" "+string(f.DataType))
	}
	if want := []string{"beitritt Beitritt date", "groesse Größe number", "aktiv Aktiv boolean", "plz PLZ text", "umsatz Umsatz number"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestProblems(t *testing.T) {
	var r Report
	for i := range 3000 {
		r.Add(&Row{Line: i + 2}, &Outcome{Added: true, Dropped: []Dropped{{Column: "c", Value: strings.Repeat("é", i%1500), Message: "m"}}})
	}
	text, err := r.Problems.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var again Problems
	if err := again.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	again.Add(9, Dropped{Column: "c", Value: "é", Message: "m"})
	list := again.List()
	if r.ValuesDropped != 3000 || len(list) > MaxProblems || list[1].Count != 3 || list[1].FirstLine != 3 {
		t.Errorf("%d groups, %+v", len(list), list[1])
	}
	var many Problems
	for i := range 5000 {
		many.Add(i, Dropped{Message: strings.Repeat("x", i%199) + string(rune('a'+i%26)) + strings.Repeat("y", i/199)})
	}
	if list := many.List(); len(list) != MaxProblems || list[MaxProblems-1].Message != furtherProblems || list[MaxProblems-1].Count != 5000-(MaxProblems-1) {
		t.Errorf("%d groups, the last is %+v", len(list), list[len(list)-1])
	}
}

func FuzzValues(f *testing.F) {
	for _, s := range []string{"1.250,50", "51-200", "$5M", "03.11.2025", "3 de noviembre de 2025", "Müller, Hans", "Ada <a@x.example>", "Großkunde|b", "-", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, typ := range []shape.Type{shape.TypeText, shape.TypeNumber, shape.TypeDate, shape.TypeBoolean} {
			for _, list := range []bool{false, true} {
				target := Target{Member: "x", Field: shape.Field{Type: typ}, List: list, Names: list}
				v, dropped := target.fromText(text, Style{})
				if v.Kind == shape.Num && !jsonNumber.MatchString(v.Text) {
					t.Errorf("%q becomes the number %s", text, v.Text)
				}
				if v.Kind == shape.Absent && len(dropped) == 0 && strings.TrimFunc(text, isBlank) != "" && !list {
					t.Errorf("%q is dropped silently", text)
				}
			}
		}
		_ = Transliterate(text)
	})
}
