package rows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/shape"
)

// fieldsOfDates are a date, another one and a number.
func fieldsOfDates() Fields[*Target] {
	fields := Fields[*Target]{Entity: "contacts", Targets: map[string]*Target{}}
	for name, typ := range map[string]shape.Type{"email": shape.TypeText, "joined": shape.TypeDate, "seen": shape.TypeDate, "worth": shape.TypeNumber} {
		fields.Targets[name] = &Target{Column: name, Member: name, Field: shape.Field{Key: name, Type: typ}}
	}
	return fields
}

// survey reads a table as an import does, and returns its values, the questions and the warnings.
func survey(t *testing.T, text string, how Writing) (values, asked, warnings []string) {
	t.Helper()
	open := func() *Reader {
		r, err := Open(strings.NewReader(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	table := open()
	c, err := NewColumns(table, nil, how, fieldsOfDates())
	if err != nil {
		t.Fatal(err)
	}
	questions, err := c.Survey(context.Background(), func() (*Reader, error) { return open(), nil }, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		asked = append(asked, fmt.Sprintf("%s %s %s %s", q.Code, q.Column, strings.Join(q.Samples, " "), strings.Join(q.Choices, "|")))
	}
	for row, err := table.Next(); err == nil; row, err = table.Next() {
		var cells []string
		found, dropped := c.Read(&row)
		for _, cell := range found {
			cells = append(cells, cell.Value.Text)
		}
		for _, d := range dropped {
			cells = append(cells, fmt.Sprintf("(%s %s)", d.Value, d.Message))
		}
		values = append(values, strings.Join(cells, " "))
	}
	return values, asked, c.Warnings()
}

// TestSurvey decides by the whole file how dates and numbers are written.
func TestSurvey(t *testing.T) {
	many := strings.Repeat("03/04/2025\n", 500)
	for name, c := range map[string]struct {
		text  string
		how   Writing
		first string // the values of the first row
		asked string
		warns string
	}{
		"a late row decides":       {"joined\n" + many + "25/12/2024\n", Writing{}, "2025-04-03", "", `column "joined": dates such as 03/04/2025 were read as day/month`},
		"another late row":         {"joined\n" + many + "12/25/2024\n", Writing{}, "2025-03-04", "", `column "joined": dates such as 03/04/2025 were read as month/day`},
		"nothing decides":          {"joined\n03/04/2025\n05/06/2025\n", Writing{}, "2025-03-04", "ambiguous_dates joined 03/04/2025 05/06/2025 dmy|mdy", ""},
		"the delimiter does not":   {"joined;seen\n03/04/2025;\n", Writing{}, "2025-03-04", "ambiguous_dates joined 03/04/2025 dmy|mdy", ""},
		"both":                     {"joined\n25/12/2024\n12/25/2024\n", Writing{}, "2024-12-25", "ambiguous_dates joined 25/12/2024 12/25/2024 dmy|mdy", ""},
		"date_order":               {"joined\n03/04/2025\n", Writing{DateOrder: "dmy"}, "2025-04-03", "", `column "joined": dates such as 03/04/2025 were read as day/month`},
		"date_order before locale": {"joined\n03/04/2025\n", Writing{DateOrder: "mdy", Locale: "de"}, "2025-03-04", "", ""},
		"locale":                   {"joined\n03/04/2025\n", Writing{Locale: "de"}, "2025-04-03", "", ""},
		"the other column":         {"joined,seen\n03/04/2025,25/12/2024\n", Writing{}, "2025-04-03 2024-12-25", "", `column "joined": dates such as 03/04/2025 were read as day/month`},
		"points in the other":      {"joined,seen\n03/04/2025,25.12.2024\n", Writing{}, "2025-04-03 2024-12-25", "", `column "joined": dates such as 03/04/2025 were read as day/month`},
		"one day either way":       {"joined\n04/04/2025\n2025-03-04\n", Writing{}, "2025-04-04", "", ""},
		"points":                   {"joined\n03.04.2025\n", Writing{}, "2025-04-03", "", ""},
		"serial dates":             {"joined,worth\n45720,45720\n", Writing{}, "2025-03-04 45720", "", ""},
		"a column of no date":      {"email,birthday\na@x.example,03/04/2025\n", Writing{}, "a@x.example", "", `column "birthday" was ignored`},
		"a late decimal":           {"worth;seen\n1.250;\n" + strings.Repeat("7;\n", 500) + "1,5;\n", Writing{}, "1250", "", ""},
		"no decimal":               {"worth\n1.250\n", Writing{}, "1.250", "", `column "worth": numbers such as 1.250 were read as 1.250`},
		"JSON":                     {`{"joined": "03/04/2025"}` + "\n" + strings.Repeat("{}\n", 500) + `{"joined": "25/12/2024"}`, Writing{}, "2025-04-03", "", "were read as day/month"},
		"JSON, undecided":          {`[{"joined": "03/04/2025"}]`, Writing{}, "2025-03-04", "ambiguous_dates joined 03/04/2025 dmy|mdy", ""},
		"JSON, serial":             {`[{"joined": 45720}]`, Writing{}, "2025-03-04", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			values, asked, warnings := survey(t, c.text, c.how)
			if values[0] != c.first || strings.Join(asked, "; ") != c.asked || !strings.Contains(strings.Join(warnings, "; "), c.warns) {
				t.Errorf("%q %q %q", values[0], asked, warnings)
			}
		})
	}
	if _, err := NewColumns(&Reader{}, nil, Writing{DateOrder: "ymd"}, fieldsOfDates()); err == nil || !strings.Contains(err.Error(), `"ymd" is not one of: dmy, mdy`) {
		t.Error(err)
	}
}

// TestUnits reads what the names of columns say that their numbers count.
func TestUnits(t *testing.T) {
	for name, want := range map[string]float64{
		"Revenue (in 000s USD)": 1e3, "Umsatz in Tsd. €": 1e3, "Umsatz (Mio. EUR)": 1e6, "Annual revenue [$M]": 1e6, "CA (k€)": 1e3, "Umsatz TEUR": 1e3, "Revenue in millions": 1e6,
		"Umsatz (EUR)": 1, "Revenue USD": 1, "Ventas en miles de euros": 1e3, "Revenue, bn": 1e9, "Revenue": 0, "Head": 0,
	} {
		if got, _ := unitOf(name); got != want {
			t.Errorf("%q counts %v, want %v", name, got, want)
		}
	}
}

// TestTotals skips rows of totals at the end, and no others.
func TestTotals(t *testing.T) {
	for text, want := range map[string][]int{
		"name;worth\nInitech;5\nSumme;5\n":                                    {3},
		"name;worth\nInitech;5\nTotal: 1;5\n\nGesamt;\n":                      {3, 5},
		"name;worth\nTotal;5\nA;1\nB;1\nC;1\n":                                nil,
		"name;worth;website\nInitech;5;\nTotal;5;total.example\n":             nil,
		"name;worth\nTotal Recall GmbH;5\nTotally;5\nSummerfield;1\n":         nil,
		"name;email\nTotal;info@total.example\nSum;https://x.example\nSumma;": nil,
		"name,worth\n,\"Total\"\n":                                            {2},
	} {
		r, err := Open(strings.NewReader(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for row, err := r.Next(); err == nil; row, err = r.Next() {
			if row.Err != nil {
				got = append(got, row.Line)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
