package research

import (
	"strings"
	"testing"

	"prospector/internal/crm"
	"prospector/internal/shape"
	"prospector/internal/tam"
)

// co is a company of a test, short to write. A number that is 0 is none.
type co struct {
	name, industry, sub, about, country, place string
	people, revenue, year                      float64
	tags, tech                                 string // with | between them
}

func (c co) company() *tam.Company {
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
	return &tam.Company{
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
	catalog := NewCatalog()
	q := tam.Question{Type: dataType}
	if allowed != "" {
		q.Allowed = strings.Split(allowed, "|")
	}
	for _, r := range rows {
		q.Text = r.question
		got, err := catalog.Research(t.Context(), q, r.company.company())
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
		{"Does it have more than 200 employees?", co{about: "It has 300 employees."}, "", notInCatalogue},
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
		{"Was it founded in 2015?", co{}, "", notInCatalogue},
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
		{"How many employees does it have?", co{}, "", notInCatalogue},
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
		{"How many stores does it have?", co{about: "We make shoes."}, "", notInCatalogue},
	})
}

func TestTechnologyQuestions(t *testing.T) {
	tech := func(list string) co { return co{tech: list} }
	about := func(text string) co { return co{about: text} }
	check(t, crm.BooleanField, "", []row{
		{"Does the company use Kubernetes?", tech("Go|Kubernetes"), "true", "technologies: Kubernetes"},
		{"Does the company use kubernetes", tech("KUBERNETES"), "true", "technologies: KUBERNETES"},
		{"Does the company use Kubernetes? Answer yes or no.", tech("Kubernetes"), "true", "technologies: Kubernetes"},
		{"Does the company use Kubernetes? Answer yes if it uses Docker.", tech("Kubernetes"), "", notUnderstood},
		{"Does it use Kubernetes?", tech("Go"), "", notInCatalogue},
		{"Does it use Kubernetes?", tech(""), "", notInCatalogue},
		{"Uses Kubernetes", tech("Kubernetes"), "true", "technologies: Kubernetes"},
		{"The company uses Kubernetes", tech("Kubernetes"), "true", "technologies: Kubernetes"},
		{"Does it run on AWS?", tech("AWS"), "true", "technologies: AWS"},
		{"Is it built with Node.js?", tech("Node.js"), "true", "technologies: Node.js"},
		{"Does it use Azure?", tech("Microsoft Azure"), "true", "technologies: Microsoft Azure"},
		{"Does it use Python?", tech("Python 3"), "true", "technologies: Python 3"},
		{"Does it use AWS?", tech("Amazon Web Services (AWS)"), "true", "technologies: Amazon Web Services (AWS)"},
		{"Does it use Java?", tech("JavaScript"), "", notInCatalogue},
		{"Does it use Go?", tech("GoDaddy|Django|Go High Level"), "", notInCatalogue},
		{"Does it use React?", tech("React Native"), "", notInCatalogue},
		{"Does it use C?", tech("C++|C#"), "", notInCatalogue},
		{"Does it use C++?", tech("C++"), "true", "technologies: C++"},
		{"Does it use C#?", tech("C"), "", notInCatalogue},
		{"Does it use C#?", tech("C++|c#"), "true", "technologies: c#"},
		{"Does it use .NET?", tech("Net"), "", notInCatalogue},
		{"Does it use .NET?", tech(".NET"), "true", "technologies: .NET"},
		{"Does it use R?", about("We use R&D budgets."), "", notInCatalogue},
		{"Does it use R?", tech("R"), "true", "technologies: R"},
		{"Does it use Go?", about("We use vans when customers go on holiday."), "", ambiguous},
		{"Does it use Go?", about("Go to our site. We use it daily."), "", ambiguous},
		{"Does it use Go?", about("We use Go and Python."), "true", "We use Go and Python."},
		{"Does it use Python?", about("We use Go, Java and Python for services."), "true", "We use Go, Java and Python for services."},
		{"Does it use Kubernetes?", about("Our platform runs on Kubernetes."), "true", "Our platform runs on Kubernetes."},
		{"Does it use Kubernetes?", about("The company is built on Kubernetes."), "true", "The company is built on Kubernetes."},
		{"Does it use Kubernetes?", about("We do not use Kubernetes."), "false", "We do not use Kubernetes."},
		{"Does it use Kubernetes?", about("We don't use Kubernetes yet."), "false", "We don't use Kubernetes yet."},
		{"Does it use Kubernetes?", about("We no longer use Kubernetes."), "", ambiguous},
		{"Does it use Kubernetes?", about("We plan to use Kubernetes."), "", ambiguous},
		{"Does it use Kubernetes?", about("We use Nomad instead of Kubernetes."), "", ambiguous},
		{"Does it use Kubernetes?", about("Our customers use Kubernetes."), "", ambiguous},
		{"Does it use Kubernetes?", about("We help teams that use Kubernetes."), "", ambiguous},
		{"Does it use Kubernetes?", about("We use Kubernetes alternatives."), "", ambiguous},
		{"Does it use Kubernetes?", about("We use tools for testing Kubernetes."), "", ambiguous},
		{"Does it use Salesforce?", about("Our product integrates with Salesforce."), "", ambiguous},
		{"Does it not use Kubernetes?", tech("Kubernetes"), "", notUnderstood},
		{"Doesn't it use Kubernetes?", tech("Kubernetes"), "", notUnderstood},
		{"Does it use only Kubernetes?", tech("Kubernetes"), "", notUnderstood},
		{"Does it use Kubernetes or Nomad?", tech("Kubernetes"), "", notUnderstood},
		{"Does it use AWS, Azure?", tech("AWS"), "", notUnderstood},
		{"Does it use Kubernetes in production?", tech("Kubernetes"), "", notInCatalogue},
		{"Did it use Kubernetes?", tech("Kubernetes"), "", notInCatalogue},
		{"Does it have Salesforce?", tech("Salesforce"), "true", "technologies: Salesforce"},
		{"Do its customers use Kubernetes?", tech("Kubernetes"), "", notUnderstood},
	})
}

func TestPlaceQuestions(t *testing.T) {
	berlin := co{country: "Germany", place: "Berlin"}
	check(t, crm.BooleanField, "", []row{
		{"Is the company based in Germany?", berlin, "true", "country: Germany"},
		{"Is it located in Berlin?", berlin, "true", "location: Berlin"},
		{"Is it headquartered in Berlin, Germany?", berlin, "true", "location: Berlin"},
		{"Is it headquartered in Berlin, Austria?", berlin, "false", "country: Germany"},
		{"Is it based in France?", berlin, "false", "country: Germany"},
		{"Is it based in Paris?", berlin, "", notInCatalogue},
		{"Is it based in Europe?", berlin, "", notInCatalogue},
		{"Is it based in Germantown?", berlin, "", notInCatalogue},
		{"Is it based in Germany?", co{place: "Germantown"}, "", notInCatalogue},
		{"Is it based in Germany?", co{country: "Germantown"}, "", notInCatalogue},
		{"Is it based in Germany?", co{country: "DE"}, "true", "country: DE"},
		{"Is it based in the US?", co{country: "United States"}, "true", "country: United States"},
		{"Is it based in the U.S.?", co{country: "USA"}, "true", "country: USA"},
		{"Is it US-based?", co{country: "Canada"}, "false", "country: Canada"},
		{"Is it in the United Kingdom?", co{country: "UK"}, "true", "country: UK"},
		{"Is it based in GERMANY?", co{country: "germany"}, "true", "country: germany"},
		{"Is it based in MALMÖ?", co{country: "Sweden", place: "Malmö"}, "true", "location: Malmö"},
		{"Is it based in China?", co{country: "Hong Kong"}, "", notInCatalogue},
		{"Is it based in Georgia?", co{country: "United States", place: "Atlanta"}, "", ambiguous},
		{"Is it based in Georgia?", co{country: "Georgia"}, "true", "country: Georgia"},
		{"Is it based in Germany or Austria?", berlin, "", notUnderstood},
		{"Is it not based in Germany?", berlin, "", notUnderstood},
		{"Is it based outside Germany?", berlin, "", notInCatalogue},
		{"Is it based in Germany?", co{}, "", notInCatalogue},
		{"Is it based in Lyon?", co{about: "We are headquartered in Lyon."}, "true", "We are headquartered in Lyon."},
		{"Is it based in Lyon?", co{about: "Our parent is headquartered in Lyon."}, "", ambiguous},
		{"Is it based in France?", co{country: "Germany", about: "We are based in France."}, "", ambiguous},
		{"Does it have offices in Germany?", berlin, "", notInCatalogue},
		{"Does it sell in Germany?", berlin, "", notInCatalogue},
	})
}

func TestKindQuestions(t *testing.T) {
	check(t, crm.BooleanField, "", []row{
		{"Is it a software company?", co{industry: "Software"}, "true", "industry: Software"},
		{"Is it a software company?", co{industry: "Computer Software"}, "true", "industry: Computer Software"},
		{"Is it a software company?", co{industry: "Software Consulting"}, "", notInCatalogue},
		{"Is it a software company?", co{industry: "Retail"}, "", notInCatalogue},
		{"Is it a beverage company?", co{industry: "Food and Beverage"}, "", notInCatalogue},
		{"Is it a food and beverage company?", co{industry: "Food and Beverage"}, "true", "industry: Food and Beverage"},
		{"Is it in the logistics industry?", co{industry: "Logistics"}, "true", "industry: Logistics"},
		{"Is it a B2B company?", co{tags: "SaaS|b2b"}, "true", "keywords: b2b"},
		{"Is it B2B?", co{about: "It sells to businesses (B2B)."}, "true", "It sells to businesses (B2B)."},
		{"Is it family owned?", co{tags: "family-owned"}, "true", "keywords: family-owned"},
		{"Is it a learning company?", co{tags: "machine learning"}, "", notInCatalogue},
		{"Is it an IT company?", co{about: "We love it. It company."}, "", ambiguous},
		{"Is it a VP company?", co{about: "We are an MVP company."}, "", notInCatalogue},
		{"Is it a listed company?", co{about: "It is a listed company."}, "true", "It is a listed company."},
		{"Is it a listed company?", co{about: "It is not a listed company."}, "false", "It is not a listed company."},
		{"Is it a listed company?", co{about: "It is a subsidiary of a listed company."}, "", ambiguous},
		{"Is it a listed company?", co{about: "It is a listed company's supplier."}, "", ambiguous},
		{"Is it a software company?", co{about: "Acme Tools is a leading software company from Berlin."}, "true", "Acme Tools is a leading software company from Berlin."},
		{"Is it a software company?", co{about: "Acme Tools is a software testing company."}, "", ambiguous},
		{"Is it a software or hardware company?", co{industry: "Software"}, "", notUnderstood},
		{"Is it hiring?", co{about: "It is hiring engineers."}, "true", "It is hiring engineers."},
		{"Is it hiring?", co{about: "It is not hiring at the moment."}, "false", "It is not hiring at the moment."},
		{"Is it currently hiring?", co{about: "We are hiring."}, "true", "We are hiring."},
		{"Is it hiring?", co{about: "We are hiring. But not now."}, "", ambiguous},
		{"Is it hiring?", co{about: "Are we hiring? Yes."}, "", ambiguous},
		{"Is it hiring?", co{about: "We help companies that are hiring."}, "", ambiguous},
		{"Is it hiring?", co{about: "Prices are on request."}, "", notInCatalogue},
		{"Is it certified to ISO 27001?", co{about: "It is certified to ISO 27001."}, "true", "It is certified to ISO 27001."},
		{"Is it ISO 27001 certified?", co{about: "It is certified to ISO 27001."}, "true", "It is certified to ISO 27001."},
		{"Is it ISO 27001 certified?", co{about: "It is certified to ISO 9001."}, "", notInCatalogue},
		{"Is it ISO 27001 certified?", co{about: "We help clients become ISO 27001 certified."}, "", ambiguous},
		{"Is it hiring?", co{}, "", notInCatalogue},
	})
}

func TestDeedQuestions(t *testing.T) {
	about := func(text string) co { return co{about: text} }
	check(t, crm.BooleanField, "", []row{
		{"Does it sell to consumers?", about("It sells to consumers (B2C)."), "true", "It sells to consumers (B2C)."},
		{"Does it sell to consumers?", about("It sells to businesses and consumers alike."), "true", "It sells to businesses and consumers alike."},
		{"Does it sell to consumers?", about("We sell furniture to consumers."), "true", "We sell furniture to consumers."},
		{"Does it sell to consumers?", about("It does not sell to consumers."), "false", "It does not sell to consumers."},
		{"Does it sell to consumers?", about("It never sells to consumers."), "false", "It never sells to consumers."},
		{"Does it sell to consumers?", about("It does not sell to consumers directly."), "", ambiguous},
		{"Does it sell to consumers?", about("It does not only sell to consumers."), "", ambiguous},
		{"Does it sell to consumers?", about("It does not sell to consumers in Europe."), "", ambiguous},
		{"Does it sell to consumers?", about("We sell access to consumers."), "", ambiguous},
		{"Does it sell to consumers?", about("We help brands that sell to consumers."), "", ambiguous},
		{"Does it sell to consumers?", about("We sell to businesses that serve consumers."), "", ambiguous},
		{"Does it sell to consumers?", about("It hopes to sell to consumers."), "", ambiguous},
		{"Does it sell to consumers?", about("Formerly it sold to consumers."), "", ambiguous},
		{"Does it sell to consumers?", about("It sells to consumers. We do not sell to consumers."), "", ambiguous},
		{"Does it sell to consumers?", about("Amazon is our partner. It sells to consumers."), "", ambiguous},
		{"Does it sell to consumers?", about("“We sell to consumers” is what others say."), "", ambiguous},
		{"Does it sell to consumers?", co{tags: "B2C"}, "true", "keywords: B2C"},
		{"Does it sell to businesses?", co{tags: "B2C"}, "", notInCatalogue},
		{"Does it ship worldwide?", about("It ships worldwide."), "true", "It ships worldwide."},
		{"Does it ship worldwide?", about("Ships worldwide!"), "true", "Ships worldwide!"},
		{"Does it ship worldwide?", about("It ships worldwide except to islands."), "", ambiguous},
		{"Does it ship worldwide?", about("It will ship worldwide."), "", ambiguous},
		{"Does it ship worldwide?", about("It shipped worldwide."), "", ambiguous},
		{"Does it ship worldwide?", about("It ships to all of Europe."), "", notInCatalogue},
		{"Does it offer a free trial?", about("It offers a free trial."), "true", "It offers a free trial."},
		{"Does it offer a free trial?", about("It offers no free trial."), "false", "It offers no free trial."},
		{"Does it hold any certifications?", about("It holds no certifications."), "false", "It holds no certifications."},
		{"Does it make milling machines?", about("Acme Tools makes milling machines for car makers."), "true", "Acme Tools makes milling machines for car makers."},
		{"Does it make milling machines?", about("Acme Tools Inc. makes milling machines."), "true", "Acme Tools Inc. makes milling machines."},
		{"Does it make milling machines?", about("Acme Tools develops milling machines."), "", ambiguous},
		{"Does it make cars?", about("We make car parts."), "", ambiguous},
		{"Does it make cars?", about("We make toy cars."), "", ambiguous},
		{"Does it make bread?", about("We make machines baking bread."), "", ambiguous},
		{"Does it make food?", about("We make food and beverage equipment."), "", ambiguous},
		{"Does it make shoes?", about("We make shoes and leather bags."), "true", "We make shoes and leather bags."},
		{"Does it make leather bags?", about("We make shoes and leather bags."), "true", "We make shoes and leather bags."},
		{"Does it make bags?", about("We make shoes and leather bags."), "", ambiguous}, // as toy cars are no cars
		{"Does it make bags?", about("We make many new bags."), "true", "We make many new bags."},
		{"Does it make food?", about("We make food, to go."), "true", "We make food, to go."},
		{"Does it make food?", about("We make food, beverage and dairy equipment."), "", ambiguous},
		{"Does it serve banks?", about("We serve food banks."), "", ambiguous},
		{"Does it make software?", about("We make companies love software."), "", ambiguous},
		{"Does it hold certifications?", about("It holds no certifications but ISO 9001."), "", ambiguous},
		{"Does it hold certifications?", about("It holds no fewer than five certifications."), "", ambiguous},
		{"Does it ship to Japan?", about("We ship to all countries but Japan."), "", ambiguous},
		{"Does it sell trucks?", about("We sell parts for cars and trucks."), "", ambiguous},
		{"Does it sell cars?", about("The company that bought us sells cars."), "", ambiguous},
		{"Does it sell cars?", about("Foo bought us. The company sells cars."), "", ambiguous},
		{"Does it sell cars?", about("Competitors say, we sell cars."), "", ambiguous},
		{"Does it sell cars?", about("Our old slogan: we sell cars."), "", ambiguous},
		{"Does it sell bikes?", about("We sell e-bikes."), "", ambiguous},
		{"Does it have a patent?", about("We have a patent pending."), "", ambiguous},
		{"Is it carbon neutral?", about("We are carbon neutral by 2030."), "", ambiguous},
		{"Is it a bank?", about("It is a food bank."), "", ambiguous},
		{"Does it use AI?", about("We use AI."), "true", "We use AI."},
		{"Does it operate in the US?", about("We operate for us."), "", ambiguous},
		{"Does it offer 24/7 support?", about("We offer 24/7 support."), "true", "We offer 24/7 support."},
		{"Does it offer software?", about("Acme Tools offers accounting software for small teams."), "true", "Acme Tools offers accounting software for small teams."},
		{"Does it provide cloud security?", about("Acme Tools is a leading provider of cloud security."), "true", "Acme Tools is a leading provider of cloud security."},
		{"Does it sell software?", co{industry: "Software"}, "", notInCatalogue},
		{"Does it provide consulting?", co{sub: "Energy Consulting"}, "true", "sub_industry: Energy Consulting"},
		{"Has it raised a round of funding?", about("It raised a round of funding last year."), "true", "It raised a round of funding last year."},
		{"Did it raise a round of funding last year?", about("It raised a round of funding last year."), "true", "It raised a round of funding last year."},
		{"Does it have a LinkedIn page?", co{}, "", notInCatalogue},
		{"Does it have a website?", co{}, "true", "website: acme.example"},
		{"Does it do R&D?", about("We do R&D."), "true", "We do R&D."},
		{"Does it do D?", about("We do R&D."), "", notInCatalogue},
		{"Can it fly?", about("It can fly."), "", notUnderstood},
		{"Kubernetes", about("We use Kubernetes."), "", notUnderstood},
		{"", about("We use Kubernetes."), "", notUnderstood},
		{"¿Usa Kubernetes?", about("We use Kubernetes."), "", notUnderstood},
		{"Does it sell to consumers?", about("Acme's customers: it\ndoes not\nsell to consumers"), "", ambiguous},
	})
}

func TestChosenAnswers(t *testing.T) {
	check(t, crm.EnumField, "1-50|51–200|201+|Unknown", []row{
		{"How many employees does it have?", co{people: 50}, "1-50", "employee_count: 50"},
		{"What is the company size?", co{people: 51}, "51–200", "employee_count: 51"},
		{"What is the company size?", co{people: 5000}, "201+", "employee_count: 5000"},
		{"What is the company size?", co{}, "", notInCatalogue},
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
		{"Does it use Kubernetes?", co{}, "", notInCatalogue},
	})
	check(t, crm.EnumField, "Software|Retail|Food and Beverage|Other", []row{
		{"What industry is the company in?", co{industry: "Software"}, "Software", "industry: Software"},
		{"Which sector does it operate in?", co{industry: "food and beverage"}, "Food and Beverage", "industry: food and beverage"},
		{"What industry is it in?", co{industry: "Energy"}, "", notInCatalogue},
		{"Which industry do its customers work in?", co{industry: "Retail"}, "", notUnderstood},
	})
	check(t, crm.EnumField, "B2B|B2C", []row{
		{"What is its business model?", co{about: "It sells to businesses (B2B)."}, "B2B", "It sells to businesses (B2B)."},
		{"What is its business model?", co{about: "It sells to businesses and consumers alike (B2B and B2C)."}, "", ambiguous},
		{"What is its business model?", co{tags: "b2c"}, "B2C", "keywords: b2c"},
		{"What kind of company is it?", co{about: "It is not a B2B company."}, "", notInCatalogue},
		{"What is it not?", co{tags: "B2B"}, "", notUnderstood},
	})
	check(t, crm.EnumField, "Germany|Austria|United States", []row{
		{"Which country is the company based in?", co{country: "Austria"}, "Austria", "country: Austria"},
		{"Where is it headquartered?", co{country: "US"}, "United States", "country: US"},
		{"Which country does it ship to?", co{country: "Austria", about: "It ships to Germany."}, "Germany", "It ships to Germany."},
		{"Which country does it ship to?", co{country: "Austria"}, "", notInCatalogue},
	})
	check(t, crm.EnumField, "Salesforce|HubSpot", []row{
		{"Which CRM does it use?", co{tech: "HubSpot|Go"}, "HubSpot", "technologies: HubSpot"},
		{"Which CRM does it use?", co{tech: "HubSpot|Salesforce"}, "", ambiguous},
		{"Which CRM does it have?", co{tech: "Go"}, "", notInCatalogue},
		{"Who is its biggest competitor?", co{tech: "Salesforce"}, "", notUnderstood},
		{"Which customers does it have?", co{tech: "Salesforce"}, "", notUnderstood},
	})
	check(t, crm.MultiSelectField, "Go|Python|C++|C", []row{
		{"Which technologies does it use?", co{tech: "C++|Go|Django"}, "Go|C++", "technologies: Go\ntechnologies: C++"},
		{"Which technologies does it use?", co{tech: "Django"}, "", notInCatalogue},
		{"Which languages does it use?", co{tech: "Go", about: "We use Python."}, "Go|Python", "technologies: Go\nWe use Python."},
	})
	check(t, crm.MultiSelectField, "Businesses|Consumers|Governments", []row{
		{"Who does it sell to?", co{about: "It sells to businesses and consumers alike."}, "Businesses|Consumers", "It sells to businesses and consumers alike."},
		{"Who does it sell to?", co{about: "It does not sell to governments."}, "", notInCatalogue},
	})
	check(t, crm.MultiSelectField, "ISO 27001|ISO 9001|SOC 2", []row{
		{"Which certifications does it have?", co{about: "It is certified to ISO 27001."}, "ISO 27001", "It is certified to ISO 27001."},
		{"Which certifications does it have?", co{about: "It is SOC 2 compliant."}, "", notInCatalogue},
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
		{"What is its phone number?", c, "", notInCatalogue},
		{"How many employees does it have?", c, "12", "employee_count: 12"},
		{"What does the company do?", c, "Acme Tools makes saws.", "Acme Tools makes saws."},
		{"Where was it founded?", c, "It was founded in 1999 in Bonn.", "It was founded in 1999 in Bonn."},
		{"What are its prices?", c, "Prices are on request.", "Prices are on request."},
		{"What industry are its customers in?", c, "", notInCatalogue},
		{"Who is the CEO?", c, "", notInCatalogue},
		{"What is it?", c, "", notUnderstood},
		{"What does it make?", co{about: "We make saws. We make hammers."}, "", ambiguous},
		{"What does it do?", co{}, "", notInCatalogue},
		{"What industry is it in?", co{industry: " "}, "", notInCatalogue},
	})
	check(t, crm.DateField, "", []row{{"When was it founded?", co{year: 1999}, "", notInCatalogue}})
}
