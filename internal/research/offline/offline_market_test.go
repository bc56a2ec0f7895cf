package offline

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/research"
	"prospector/internal/shape"
	"prospector/store"
)

// market is a made-up catalogue.
func market(t testing.TB, companies int) []catalog.Company {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	companiesAndPeople := catalog.New(nil)
	if err := companiesAndPeople.Generate(context.Background(), st, catalog.Generation{Companies: companies, Seed: 1}, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	var list []catalog.Company
	err = st.View(catalog.Org, func(tx *store.Tx) error {
		return companiesAndPeople.Companies.Scan(tx, func(d store.Doc[catalog.Company]) (bool, error) {
			list = append(list, d.Record)
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestMarket: sensible questions about a made-up market are answered for a good part of it, also when asked at once, and each
// answer is what the company was made with.
func TestMarket(t *testing.T) {
	companies := market(t, 2000)
	has := func(c *catalog.Company, words string) bool { return strings.Contains(string(c.Description), words) }
	says := func(yes, no string) func(*catalog.Company) string {
		return func(c *catalog.Company) string {
			switch {
			case has(c, yes):
				return "true"
			case no != "" && has(c, no):
				return "false"
			}
			return ""
		}
	}
	questions := []struct {
		q    research.Question
		want func(*catalog.Company) string
	}{
		{research.Question{Text: "Is the company hiring?", Type: crm.BooleanField}, says("It is hiring", "It is not hiring")},
		{research.Question{Text: "Does it ship worldwide?", Type: crm.BooleanField}, says("It ships worldwide.", "")},
		{research.Question{Text: "Does it hold certifications?", Type: crm.BooleanField}, says("It holds certifications", "It holds no certifications.")},
		{research.Question{Text: "Is it ISO 27001 certified?", Type: crm.BooleanField}, says("ISO 27001", "")},
		{research.Question{Text: "Does it offer a free trial?", Type: crm.BooleanField}, says("It offers a free trial.", "")},
		{research.Question{Text: "Is it part of a larger group?", Type: crm.BooleanField}, says("part of a larger group", "")},
		{research.Question{Text: "Does the company use Kubernetes?", Type: crm.BooleanField}, func(c *catalog.Company) string {
			if strings.Contains(fmt.Sprint(c.Technologies), "Kubernetes") {
				return "true"
			}
			return ""
		}},
		{research.Question{Text: "Does it sell to consumers?", Type: crm.BooleanField}, func(c *catalog.Company) string {
			if has(c, "(B2C)") || has(c, "and B2C)") || strings.Contains(fmt.Sprint(c.Keywords), "B2C") {
				return "true"
			}
			return ""
		}},
		{research.Question{Text: "Does it have more than 200 employees?", Type: crm.BooleanField}, func(c *catalog.Company) string {
			if !c.EmployeeCount.Valid {
				return ""
			}
			return fmt.Sprint(c.EmployeeCount.Float > 200)
		}},
		{research.Question{Text: "Is it based in Germany?", Type: crm.BooleanField}, func(c *catalog.Company) string { return fmt.Sprint(c.Country == "Germany") }},
		{research.Question{Text: "Which industry is it in?", Type: crm.EnumField, Allowed: []string{"Software", "Retail"}}, func(c *catalog.Company) string {
			if c.Industry == "Software" || c.Industry == "Retail" {
				return string(c.Industry)
			}
			return ""
		}},
	}
	rules := New()
	var wg sync.WaitGroup
	for _, q := range questions {
		wg.Go(func() {
			counts := map[string]int{}
			for i := range companies {
				c := &companies[i]
				got, err := rules.Research(t.Context(), q.q, c)
				if answer := shown(got.Answer); err != nil || answer != q.want(c) {
					t.Errorf("%s %+v: %q, %v", q.q.Text, c, answer, err)
					return
				}
				counts[shown(got.Answer)+string(got.Reason)]++
			}
			t.Logf("%s %v", q.q.Text, counts)
		})
	}
	wg.Wait()
}

func BenchmarkResearch(b *testing.B) {
	companies := market(b, 1000)
	rules := New()
	long := companies[0]
	long.Description = shape.Text(strings.Repeat("We use it, and they sell to nobody but consumers ", 2000))
	for _, text := range []string{"Does the company use Kubernetes?", "Is the company hiring?", "Does it have more than 200 employees?"} {
		q := research.Question{Text: text, Type: crm.BooleanField}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if _, err := rules.Research(b.Context(), q, &companies[i%len(companies)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("100 kB", func(b *testing.B) {
		q := research.Question{Text: "Does it sell to consumers?", Type: crm.BooleanField}
		for range b.N {
			if _, err := rules.Research(b.Context(), q, &long); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// FuzzResearch asks arbitrary questions about arbitrary companies. Every answer has the type of the
// question and cites data of the company, and a second provider returns the same.
func FuzzResearch(f *testing.F) {
	types := []crm.DataType{crm.BooleanField, crm.NumberField, crm.TextField, crm.EnumField, crm.MultiSelectField, crm.DateField}
	for i, text := range []string{
		"Does it use Kubernetes?", "How many offices does it have?", "What does it do?", "What is the company size?", "Who does it sell to?", "When was it founded?",
		"", "?", ".", "is", "Does it", "Does it have", "Is it in", "how many does it", "Is it a company?", "What", "Which does it use?", "Is it certified?", "Has it", "- 's ’s .", "İs it İ?",
	} {
		for _, about := range []string{
			"", "It is not hiring. We use Kubernetes, Go and C++ (a lot).", "We sell to businesses and consumers", strings.Repeat("we ", 3000), strings.Repeat("consumers", 2000),
			"\u0301\u0301 .NET it’s “it” İI\u0307 we’ve 1,2,3.4.5 5% ~ 12–15 offices…\n\n- sells to consumers", "It is . It sells ' ’ to", strings.Repeat("We sell, and ", 900),
		} {
			f.Add(text, i%len(types), "1-50|Businesses|Consumers|yes|no|–|", about, "Kubernetes", "Germany")
		}
	}
	f.Fuzz(func(t *testing.T, text string, kind int, allowed, about, tech, country string) {
		for _, s := range []string{text, allowed, about, tech, country} {
			if !utf8.ValidString(s) {
				t.Skip("the store has no such text")
			}
		}
		q := research.Question{Text: text, Type: types[(kind%len(types)+len(types))%len(types)]}
		if q.Type == crm.EnumField || q.Type == crm.MultiSelectField {
			q.Allowed = strings.Split(allowed, "|")
		}
		c := co{about: about, tech: tech, country: country, place: country, tags: tech, industry: tech, people: 12}.company()
		rules := New()
		got, err := rules.Research(t.Context(), q, c)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := rules.Research(t.Context(), q, c)
		other, _ := New().Research(t.Context(), q, c)
		if a := fmt.Sprint(got); a != fmt.Sprint(again) || a != fmt.Sprint(other) {
			t.Fatalf("%v, %v and %v", got, again, other)
		}
		if got.Status != "" {
			if got.Status != research.StatusUnanswered || got.Reason == "" || got.Answer.Kind != shape.Absent || got.Evidence != "" {
				t.Fatalf("%+v", got)
			}
			return
		}
		fits(t, q, got.Answer)
		for line := range strings.SplitSeq(string(got.Evidence), "\n") {
			if _, value, is := strings.Cut(line, ": "); is && !strings.Contains(about, line) {
				line = value
			}
			if !strings.Contains(about+"\n"+strings.Join(c.Technologies, ", ")+"\n"+tech+"\n"+country+"\n12\nacme.example\nAcme Tools Inc.", line) {
				t.Fatalf("%q is not the company's", got.Evidence)
			}
		}
		if got.Source == "" || got.Confidence.Float <= 0 || got.Confidence.Float > 1 || !utf8.ValidString(string(got.Evidence)) {
			t.Fatalf("%+v", got)
		}
	})
}

func fits(t *testing.T, q research.Question, v shape.Value) {
	t.Helper()
	allowed := func(v shape.Value) bool {
		return v.Kind == shape.String && strings.Contains("|"+strings.Join(q.Allowed, "|")+"|", "|"+v.Text+"|")
	}
	ok := false
	switch q.Type {
	case crm.BooleanField:
		ok = v.Kind == shape.Bool
	case crm.NumberField:
		ok = v.Kind == shape.Num
	case crm.TextField:
		ok = v.Kind == shape.String && v.Text != ""
	case crm.EnumField:
		ok = allowed(v)
	case crm.MultiSelectField:
		ok = v.Kind == shape.List && len(v.Items) > 0
		for _, item := range v.Items {
			ok = ok && allowed(item)
		}
	}
	if !ok {
		t.Fatalf("%+v to a question for %s", v, q.Type)
	}
}
