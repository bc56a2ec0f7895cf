package offline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/research"
	"prospector/internal/shape"
)

// co is a company of a test, short to write. A number that is 0 is none.
type co struct {
	name, industry, sub, about, country, place string
	people, revenue, year                      float64
	tags, tech                                 string // with | between them
}

func (c co) company() *catalog.Company {
	number := func(f float64) shape.Number {
		if f == 0 {
			return shape.Number{}
		}
		return shape.NumberOf(f)
	}
	list := func(s string) []string {
		if s == "" {
			return nil
		}
		return strings.Split(s, "|")
	}
	if c.name == "" {
		c.name = "Acme Tools Inc."
	}
	return &catalog.Company{
		ID: "1", Name: c.name, Industry: shape.Text(c.industry), SubIndustry: shape.Text(c.sub), Description: shape.Text(c.about), Country: shape.Text(c.country),
		Location: shape.Text(c.place), EmployeeCount: number(c.people), AnnualRevenue: number(c.revenue), FoundedYear: number(c.year),
		Keywords: list(c.tags), Technologies: list(c.tech), Website: "acme.example",
	}
}

// row is a question and what comes of it: the answer and its evidence, or no answer and the reason.
type row struct {
	question string
	company  co
	answer   string
	because  string
}

// shown is an answer as the tables of tests write it.
func shown(v shape.Value) string {
	switch v.Kind {
	case shape.Bool:
		if v.True {
			return "true"
		}
		return "false"
	case shape.List:
		var items []string
		for _, item := range v.Items {
			items = append(items, item.Text)
		}
		return strings.Join(items, "|")
	}
	return v.Text
}

func check(t *testing.T, dataType crm.DataType, allowed string, rows []row) {
	t.Helper()
	rules := New()
	q := research.Question{Type: dataType}
	if allowed != "" {
		q.Allowed = strings.Split(allowed, "|")
	}
	for _, r := range rows {
		q.Text = r.question
		got, err := rules.Research(t.Context(), q, r.company.company())
		if err != nil {
			t.Fatal(err)
		}
		answer, because := shown(got.Answer), string(got.Evidence)
		if got.Status != "" {
			because = string(got.Reason)
		}
		if answer != r.answer || because != r.because || (got.Status == "") != (answer != "") {
			t.Errorf("%s %+v\n got %q, because %q\nwant %q, because %q", r.question, r.company, answer, because, r.answer, r.because)
		}
	}
}

func TestNumericQuestions(t *testing.T) {
	c := co{people: 200, revenue: 5_000_000, year: 2015}
	check(t, crm.BooleanField, "", []row{
		{"Does the company have more than 199 employees?", c, "true", "employee_count: 200"},
		{"Does the company have more than 200 employees?", c, "false", "employee_count: 200"},
		{"Does it have at least 200 employees?", c, "true", "employee_count: 200"},
		{"Does it employ over 1,000 people?", c, "false", "employee_count: 200"},
		{"Does it have fewer than 200 staff?", c, "false", "employee_count: 200"},
		{"Is its headcount under 1k?", c, "true", "employee_count: 200"},
		{"Does it have 200+ employees?", c, "true", "employee_count: 200"},
		{"Does it have 150 or more employees?", c, "true", "employee_count: 200"},
		{"Does it have no more than 150 employees?", c, "false", "employee_count: 200"},
		{"Does it have between 50 and 200 employees?", c, "true", "employee_count: 200"},
		{"Does it have 50-199 employees?", c, "false", "employee_count: 200"},
		{"Is it a 200-person company?", c, "true", "employee_count: 200"},
		{"Is it a 150-person company?", c, "", ambiguous},
		{"Does it have 150 employees?", c, "", ambiguous},
		{"Does it have >= 200 employees?", c, "true", "employee_count: 200"},
		{"Does it have more than 200 employees?", co{about: "It has 300 employees."}, "", notInCatalog},
		{"Does it have more than 100 employees in Germany?", c, "", notUnderstood},
		{"Does it have more than 100 customers?", c, "", notUnderstood},
		{"Does it have more than 100 sales people?", c, "", notUnderstood},
		{"Does it serve more than 100 people?", c, "", notUnderstood},
		{"Are more than 50% of its employees remote?", c, "", notUnderstood},
		{"Does its parent have more than 100 employees?", c, "", notUnderstood},
		{"Does it have more than 1.000 employees?", c, "", notUnderstood}, // a thousand, or one
		{"Is its revenue over $4.5 million?", c, "true", "annual_revenue: 5000000"},
		{"Does it make more than $5M in annual revenue?", c, "false", "annual_revenue: 5000000"},
		{"Is its revenue over 1.5bn?", c, "false", "annual_revenue: 5000000"},
		{"Does it have an annual revenue of at least 5 million dollars?", c, "true", "annual_revenue: 5000000"},
		{"Is its monthly revenue over $1M?", c, "", notUnderstood},
		{"Is its revenue growth over 10?", c, "", notUnderstood},
		{"Was it founded before 2015?", c, "false", "founded_year: 2015"},
		{"Was the company founded after 2010?", c, "true", "founded_year: 2015"},
		{"Has it been established since 2015?", c, "true", "founded_year: 2015"},
		{"Was it founded in 2015?", c, "true", "founded_year: 2015"},
		{"Was it founded in the 1990s?", c, "false", "founded_year: 2015"},
		{"Was it founded in or after 2016?", c, "false", "founded_year: 2015"},
		{"Was it founded between 2010 and 2020?", c, "true", "founded_year: 2015"},
		{"Was it founded in 2015?", co{}, "", notInCatalog},
		{"Is it older than 10 years?", c, "", today},
		{"Was it founded in the last 5 years?", c, "", today},
		{"Was it founded more than ten years ago?", c, "", today},
	})
	check(t, crm.NumberField, "", []row{
		{"How many employees does the company have?", c, "200", "employee_count: 200"},
		{"What is the company's headcount?", c, "200", "employee_count: 200"},
		{"How many people work there?", c, "200", "employee_count: 200"},
		{"Number of employees", c, "200", "employee_count: 200"},
		{"How many people does it employ?", c, "200", "employee_count: 200"},
		{"What is its annual revenue?", c, "5000000", "annual_revenue: 5000000"},
		{"In what year was it founded?", c, "2015", "founded_year: 2015"},
		{"When was it established?", c, "2015", "founded_year: 2015"},
		{"How old is the company?", c, "", today},
		{"How many employees does it have?", co{}, "", notInCatalog},
		{"How many employees work in sales?", c, "", notUnderstood},
		{"What is its profit?", c, "", notUnderstood},
		{"How many offices does it have?", co{about: "Acme Tools has 12 offices."}, "12", "Acme Tools has 12 offices."},
		{"How many stores does it have?", co{about: "We operate 1,200 stores worldwide."}, "1200", "We operate 1,200 stores worldwide."},
		{"How many offices does it have?", co{about: "Runs twelve offices in 5 countries."}, "12", "Runs twelve offices in 5 countries."},
		{"How many offices does it have?", co{about: "We have 12 offices. We have 14 offices."}, "", ambiguous},
		{"How many offices does it have?", co{about: "We have 12 offices in Germany."}, "", ambiguous},
		{"How many offices does it have?", co{about: "We have over 12 offices."}, "", ambiguous},
		{"How many offices does it have?", co{about: "We have 12,5 offices."}, "", ambiguous},
		{"How many offices does it have?", co{about: "We plan to have 12 offices."}, "", ambiguous},
		{"How many offices does it have?", co{about: "Our largest customer has 12 offices."}, "", ambiguous},
		{"How many stores does it have?", co{about: "We supply 300 stores."}, "", ambiguous},
		{"How many stores does it supply?", co{about: "We supply 300 stores."}, "300", "We supply 300 stores."},
		{"How many stores does it have?", co{about: "We make shoes."}, "", notInCatalog},
	})
}

func TestChosenAnswers(t *testing.T) {
	check(t, crm.EnumField, "1-50|51–200|201+|Unknown", []row{
		{"How many employees does it have?", co{people: 50}, "1-50", "employee_count: 50"},
		{"What is the company size?", co{people: 51}, "51–200", "employee_count: 51"},
		{"What is the company size?", co{people: 5000}, "201+", "employee_count: 5000"},
		{"What is the company size?", co{}, "", notInCatalog},
		{"How many customers does it have?", co{people: 50, about: "We have 1-50 customers."}, "", notUnderstood},
	})
	check(t, crm.EnumField, "<10|10-100|100-1,000|1,000 or more", []row{
		{"How many people work there?", co{people: 9}, "<10", "employee_count: 9"},
		{"How many people work there?", co{people: 100}, "", ambiguous},
		{"How many people work there?", co{people: 999}, "100-1,000", "employee_count: 999"},
	})
	check(t, crm.EnumField, "under $1M|$1-10M|Large (over 10 million)", []row{
		{"What is its annual revenue?", co{revenue: 999_999}, "under $1M", "annual_revenue: 999999"},
		{"What is its annual revenue?", co{revenue: 2_000_000}, "$1-10M", "annual_revenue: 2000000"},
		{"What is its annual revenue?", co{revenue: 20_000_000}, "Large (over 10 million)", "annual_revenue: 20000000"},
	})
	check(t, crm.EnumField, "Yes|No|Unknown", []row{
		{"Does it use Kubernetes?", co{tech: "Kubernetes"}, "Yes", "technologies: Kubernetes"},
		{"Does it have over 50 employees?", co{people: 5}, "No", "employee_count: 5"},
		{"Does it use Kubernetes?", co{}, "", notInCatalog},
	})
	check(t, crm.EnumField, "Software|Retail|Food and Beverage|Other", []row{
		{"What industry is the company in?", co{industry: "Software"}, "Software", "industry: Software"},
		{"Which sector does it operate in?", co{industry: "food and beverage"}, "Food and Beverage", "industry: food and beverage"},
		{"What industry is it in?", co{industry: "Energy"}, "", notInCatalog},
		{"Which industry do its customers work in?", co{industry: "Retail"}, "", notUnderstood},
	})
	check(t, crm.EnumField, "B2B|B2C", []row{
		{"What is its business model?", co{about: "It sells to businesses (B2B)."}, "B2B", "It sells to businesses (B2B)."},
		{"What is its business model?", co{about: "It sells to businesses and consumers alike (B2B and B2C)."}, "", ambiguous},
		{"What is its business model?", co{tags: "b2c"}, "B2C", "keywords: b2c"},
		{"What kind of company is it?", co{about: "It is not a B2B company."}, "", notInCatalog},
		{"What is it not?", co{tags: "B2B"}, "", notUnderstood},
	})
	check(t, crm.EnumField, "Germany|Austria|United States", []row{
		{"Which country is the company based in?", co{country: "Austria"}, "Austria", "country: Austria"},
		{"Where is it headquartered?", co{country: "US"}, "United States", "country: US"},
		{"Which country does it ship to?", co{country: "Austria", about: "It ships to Germany."}, "Germany", "It ships to Germany."},
		{"Which country does it ship to?", co{country: "Austria"}, "", notInCatalog},
	})
	many := "Peru|Chile|Spain|Italy|Japan|Kenya|India|China|Malta|Qatar|Egypt|Ghana|Nepal|Haiti|Samoa|Tonga|Yemen|Libya|Niger|Gabon|Benin"
	check(t, crm.EnumField, many, []row{
		{"Which country does it ship to?", co{about: "It ships to Benin."}, "Benin", "It ships to Benin."},
		{"Which country does it ship to?", co{about: "It ships to Benin and Gabon."}, "", ambiguous},
	})
	check(t, crm.EnumField, "Salesforce|HubSpot", []row{
		{"Which CRM does it use?", co{tech: "HubSpot|Go"}, "HubSpot", "technologies: HubSpot"},
		{"Which CRM does it use?", co{tech: "HubSpot|Salesforce"}, "", ambiguous},
		{"Which CRM does it have?", co{tech: "Go"}, "", notInCatalog},
		{"Who is its biggest competitor?", co{tech: "Salesforce"}, "", notUnderstood},
		{"Which customers does it have?", co{tech: "Salesforce"}, "", notUnderstood},
	})
	check(t, crm.MultiSelectField, "Go|Python|C++|C", []row{
		{"Which technologies does it use?", co{tech: "C++|Go|Django"}, "Go|C++", "technologies: Go\ntechnologies: C++"},
		{"Which technologies does it use?", co{tech: "Django"}, "", notInCatalog},
		{"Which languages does it use?", co{tech: "Go", about: "We use Python."}, "Go|Python", "technologies: Go\nWe use Python."},
	})
	check(t, crm.MultiSelectField, "Businesses|Consumers|Governments", []row{
		{"Who does it sell to?", co{about: "It sells to businesses and consumers alike."}, "Businesses|Consumers", "It sells to businesses and consumers alike."},
		{"Who does it sell to?", co{about: "It does not sell to governments."}, "", notInCatalog},
	})
	check(t, crm.MultiSelectField, "ISO 27001|ISO 9001|SOC 2", []row{
		{"Which certifications does it have?", co{about: "It is certified to ISO 27001."}, "ISO 27001", "It is certified to ISO 27001."},
		{"Which certifications does it have?", co{about: "It is SOC 2 compliant."}, "", notInCatalog},
	})
}

func TestTextAnswers(t *testing.T) {
	c := co{industry: "Software", sub: "Analytics", country: "Germany", place: "Berlin", people: 12, tech: "Go|Kubernetes", tags: "SaaS|cloud",
		about: "Acme Tools makes saws. It was founded in 1999 in Bonn. Prices are on request."}
	check(t, crm.TextField, "", []row{
		{"What industry is the company in?", c, "Software", "industry: Software"},
		{"What is its sub-industry?", c, "Analytics", "sub_industry: Analytics"},
		{"Which technologies does it use?", c, "Go, Kubernetes", "technologies: Go, Kubernetes"},
		{"Where is it based?", c, "Berlin", "location: Berlin"},
		{"Which country is it in?", c, "Germany", "country: Germany"},
		{"What are the company's keywords?", c, "SaaS, cloud", "keywords: SaaS, cloud"},
		{"What is the website of the company?", c, "acme.example", "website: acme.example"},
		{"What is its phone number?", c, "", notInCatalog},
		{"How many employees does it have?", c, "12", "employee_count: 12"},
		{"What does the company do?", c, "Acme Tools makes saws.", "Acme Tools makes saws."},
		{"Where was it founded?", c, "", notUnderstood},
		{"Where was it based?", c, "", notUnderstood},
		{"Which technologies did it use?", c, "", notUnderstood},
		{"What are its prices?", c, "", notUnderstood},
		{"What industry are its customers in?", c, "", notUnderstood},
		{"Who is the CEO?", c, "", notUnderstood},
		{"What is it?", c, "", notUnderstood},
		{"What does it make?", co{about: "We make saws. We make hammers."}, "", notUnderstood},
		{"What does it do?", co{}, "", notInCatalog},
		{"What industry is it in?", co{industry: " "}, "", notInCatalog},
	})
	check(t, crm.DateField, "", []row{{"When was it founded?", co{year: 1999}, "", notInCatalog}})
}

// TestCatalogKeepsFew: questions are kept as they were read, and not more of them than is said; who has gone gets no answer.
func TestCatalogKeepsFew(t *testing.T) {
	rules := New()
	if rules.Costly() {
		t.Error("it is costly")
	}
	for i := range 3 * readingsMost {
		q := research.Question{Text: fmt.Sprintf("Does it have more than %d employees?", i), Type: crm.BooleanField}
		got, err := rules.Research(t.Context(), q, co{people: 300}.company())
		if err != nil || got.Answer.True != (i < 300) {
			t.Fatal(q.Text, got, err)
		}
	}
	if n := len(rules.readings); n == 0 || n > readingsMost {
		t.Errorf("%d are kept", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rules.Research(ctx, research.Question{}, co{}.company()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
