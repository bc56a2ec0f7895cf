package offline

import (
	"strings"
	"testing"

	"prospector/internal/crm"
	"prospector/internal/research"
	"prospector/internal/shape"
)

// TestSentencesThatDoNotTell: a sentence has the words of the question and does not say it of the company, of all of it, or of now.
func TestSentencesThatDoNotTell(t *testing.T) {
	var rows []row
	for question, descriptions := range map[string][]string{
		"Does it use Salesforce?": {
			"Acme Tools makes add-ons. “Acme Tools changed everything. We use Salesforce every day.” – Jane Doe, Globex",
			"Acme Tools makes add-ons. \"Acme Tools is great. We use Salesforce with it. It just works.\" Jane Doe, Globex",
			"'We use Salesforce every day.' Jane Doe, Globex", "‘We use Salesforce every day.’ Jane Doe, Globex", "„Super. We use Salesforce.“ Jane Doe", "»Super. We use Salesforce.« Jane Doe",
			"What our customers say:\nWe use Salesforce and Acme Tools together.", "We use Salesforce at a client in Berlin.", "We use Salesforce at clients only.",
		},
		"Does it ship worldwide?": {
			"A story: Globex. «Acme Tools is our backbone. We ship worldwide.»", "Acme Tools helps you buy from any vendor. The vendor ships worldwide.",
			"From January 2027, we ship worldwide.", "During the holidays, we do not ship worldwide.", "We ship worldwide, in theory.", "Perhaps, we ship worldwide.", "There, we ship worldwide.", "We ship worldwide (EU and US only).",
		},
		"Does it sell to consumers?": {
			"Acme Tools was acquired by Globex in 2020. It sells to consumers.", "Acme Tools was acquired by IBM. It sells to consumers.",
			"Acme Tools is a subsidiary of Globex. The company sells to consumers.", "Airbus is our customer. It sells to consumers.", "We sell to consumers of energy data.",
			"Acme Tools makes bolts. Customers include Mercedes. It sells to consumers.",
			"Acme Tools sells to consumers. In 2022 the company stopped selling to consumers.",
		},
		"Does it sell loans?":       {"We work with Globex, a bank. It sells loans to consumers."},
		"Is it carbon neutral?":     {"We built a data center in Oslo. It is carbon neutral.", "By 2030, we are carbon neutral.", "We are carbon neutral - by 2030.", "We are carbon neutral from next year."},
		"Is it profitable?":         {"Acme Tools runs a fund. It is profitable.", "Acme Tools is profitable for investors."},
		"Does it use Kubernetes?":   {"Globex is our partner. Its platform runs on Kubernetes.", "The former owner of\nAcme Tools uses Kubernetes.", "We use Kubernetes, which we are phasing out.", "We use Kubernetes. We stopped using Kubernetes in 2022."},
		"Is it ISO 9001 certified?": {"Our vendor is ISO 9001 certified.", "We are ISO 9001 certified through 2019.", "We are ISO 9001 certified (in progress)."},
		"Does it have insurance?":   {"We match you with the right employer. The employer has insurance.", "We offer insurance for small firms."},
		"Does it have an API?":      {"We have an API under development."},
		"Is it hiring?": {
			"Acme Tools is hiring made easy.", "Acme Tools is hiring software for modern teams.", "We are hiring experts.", "We are hiring software.", "We are hiring managers' best friend.", "We are hiring freeze experts.", "We are hiring engineers' best friend.", "We are hiring people people.", "We are hiring managers at heart.",
			"We are hiring engineers for our clients.", "We are hiring from 2027.",
		},
		"Does it hire engineers?":  {"We recruit engineers for banks."},
		"Has it raised capital?":   {"Acme Tools raised capital for its clients."},
		"Does it run warehouses?":  {"We use warehouses of our partners."},
		"Does it run on AWS?":      {"We run workshops on AWS.", "Our software runs on AWS and Azure."},
		"Does it use Oracle?":      {"We use Oracle and SAP consultants."},
		"Does it use Swift?":       {"We use SWIFT for payments."},
		"Does it use Ruby?":        {"We use Ruby, Emerald and Sapphire in our rings."},
		"Does it sell in Germany?": {"We sell cars made in Germany."},
		"Does it sell alcohol?":    {"We do not sell alcohol or tobacco to minors.", "In Texas, we do not sell alcohol.", "We do not sell alcohol. We sell moments."},
		"Does it offer a free trial?": {
			"We offer a free trial. The free trial was discontinued in 2021.", "We offer a free trial. Coming 2027.", "Starting next year, Acme Tools offers a free trial.",
			"For new customers, we do not offer a free trial.", "We offer a free trial that ended in 2021.", "We offer a free trial, but it ended in 2021.",
		},
		"Does it use cookies?":      {"This site uses cookies. We do not use cookies."},
		"Is it a bank?":             {"Acme Tools is a bank of stock photos."},
		"Is it a listed company?":   {"Acme Tools is listed on G2 and Capterra."},
		"Is it open?":               {"We are open to ideas.", "We are open from 9 to 5."},
		"Is it private?":            {"Acme Tools is private by design."},
		"Is it a SaaS company?":     {"Acme Tools is a SaaS marketing agency."},
		"Does it build houses?":     {"We build houses of cards."},
		"Is it a software company?": {"We are a software company in name only."},
		"Is it a leasing company?":  {"We are leasing in Berlin."},
		"Does it have a CTO?":       {"We have a CTO as a service.", "We have a CTO for startups."},
		"Does it sell phones?":      {"We sell phones, tablets and laptops accessories.", "We sell phones and tablets cases.", "We sell phones, " + strings.Repeat("chargers, ", 40) + "and bags."},
		"Does it make clothing?":    {"We make doll clothing."},
		"Does it make cars?":        {"According to our competitors, we make cars.", "We make cars for children to play with.", "Acme Tools Holding makes cars.", "For our client Globex, we make cars."},
		"Is it B2B?":                {"Acme Tools is a B2B company database provider.", "Acme Tools is a B2B directory.", "Acme Tools is a B2B wholesaler's customer.", "Acme Tools is not a B2B wholesaler."},
		"Does it offer refunds?":    {"We do not offer refunds or exchanges on sale items."},
		"Is it free?":               {"Acme Tools is free for 14 days."},
	} {
		for _, about := range descriptions {
			rows = append(rows, row{question, co{about: about}, "", ambiguous})
		}
	}
	check(t, crm.BooleanField, "", rows)
}

func TestSentencesThatTell(t *testing.T) {
	for question, descriptions := range map[string][]string{
		"Is it B2B?":           {"Acme Tools is a B2B wholesaler.", "Acme Tools is a leading B2B software provider.", "It is a B2B SaaS company."},
		"Is it family-owned?":  {"It is a family-owned manufacturer.", "It is a family-owned company.", "Acme Tools is a family-owned manufacturer of saws."},
		"Is it hiring?":        {"We're hiring!", "We are currently hiring engineers.", "It is hiring software engineers in Berlin.", "It is hiring in sales."},
		"Does it sell cars?":   {"Founded in 1999 in Bonn, Acme Tools sells cars.", "We make bolts, and we sell cars.", "The company sells cars."},
		"Does it use Java?":    {"We use Java.", "We use Java and Python."},
		"Does it have an app?": {"We offer an app.", "It's the customers' choice. We have an app."},
	} {
		for _, about := range descriptions {
			sentence := about[strings.LastIndex(strings.TrimSuffix(about, "."), ". ")+1:]
			check(t, crm.BooleanField, "", []row{{question, co{about: about}, "true", strings.TrimSpace(sentence)}})
		}
	}
}

func TestTextsThatDoNotTell(t *testing.T) {
	about := func(text string) co { return co{about: text} }
	saws := "Acme Tools makes saws."
	check(t, crm.TextField, "", []row{
		{"What does it do?", about("It plans to offer a free trial next year."), "", notInCatalog},
		{"What does it do?", about("It offers a free trial."), "", notInCatalog},
		{"What does it do?", about("About us\n" + saws), saws, saws},
		{"What does it do?", about("Welcome to our website! " + saws), saws, saws},
		{"What does it do?", about("Founded in 1999. " + saws), saws, saws},
		{"What does it do?", about("“The best tool I ever used.” – Jane. " + saws), saws, saws},
		{"What does it do?", about("Our competitor Globex makes hammers. " + saws), saws, saws},
		{"What does it do?", about("This domain is for sale."), "", notInCatalog},
		{"What does it do?", about("It was founded in 1999."), "", notInCatalog},
		{"What does it do?", about("It is a listed company."), "", notInCatalog},
		{"What does it do?", about("Acme Tools is a leading provider of saws."), "Acme Tools is a leading provider of saws.", "Acme Tools is a leading provider of saws."},
		{"What does it do?", about("Leading provider of saws."), "", notInCatalog},
		{"What does it do?", about("It is a software company."), "It is a software company.", "It is a software company."},
	})
	check(t, crm.NumberField, "", []row{
		{"How many offices does it have?", about("In Germany, we have 12 offices."), "", ambiguous},
		{"How many stores does it have?", about("By 2030, we run 300 stores."), "", ambiguous},
		{"How many stores does it have?", about("We run 300 stores in 2030."), "", ambiguous},
		{"How many customers does it serve?", about("We serve 10,000 customers daily."), "", ambiguous},
		{"How many customers does it have?", about("We have 500 customers each month."), "", ambiguous},
		{"How many websites does it have?", about("We maintain 300 websites."), "", ambiguous},
		{"How many customers does it have?", about("We work with Globex. It has 900 customers."), "", ambiguous},
	})
	check(t, crm.MultiSelectField, "Consumers|Hospitals|Schools", []row{
		{"Who does it sell to?", about("We sell to both hospitals and schools."), "Hospitals|Schools", "We sell to both hospitals and schools."},
	})
	long := co{about: strings.Repeat("é", 2*shape.MaxText)}.company()
	got, _ := New().Research(t.Context(), research.Question{Text: "What is the description?", Type: crm.TextField}, long)
	if n := len([]rune(got.Answer.Text)); n != shape.MaxText {
		t.Errorf("a text of %d characters", n)
	}
}
