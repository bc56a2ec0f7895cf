package offline

import (
	"testing"

	"prospector/internal/crm"
)

// TestFieldsThatDoNotTell: what a field has is not what was asked for.
func TestFieldsThatDoNotTell(t *testing.T) {
	german := co{country: "Germany", place: "Berlin", people: 300, revenue: 50_000_000, year: 2015, tech: "AWS"}
	tags := func(list string) co { return co{tags: list} }
	in := func(industry string) co { return co{industry: industry} }
	check(t, crm.BooleanField, "", []row{
		{"Does it have more than 100 employees in the US?", german, "", notUnderstood},
		{"Does the company have over 100 US employees?", german, "", notUnderstood},
		{"Is its US revenue over $10M?", german, "", notUnderstood},
		{"Was it founded in the US before 2018?", german, "", notUnderstood},
		{"Does it make more than $1M in revenue with us?", german, "", notUnderstood},
		{"Please tell us whether it has more than 100 employees", german, "true", "employee_count: 300"},
		{"Does it work with more than 50 people?", german, "", notUnderstood},
		{"Does it work for more than 50 people?", german, "", notUnderstood},
		{"Is it a company with more than 50 people?", german, "true", "employee_count: 300"},
		{"Does it generate more than $1M in revenue per account?", german, "", notUnderstood},
		{"Does it generate more than $1M in revenue per year?", german, "true", "annual_revenue: 50000000"},
		{"Did it have more than 100 employees?", german, "", notUnderstood},
		{"Is its revenue between 1 and 5 million?", co{revenue: 500_000}, "false", "annual_revenue: 500000"},
		{"Is its revenue between 1 and 5 million?", co{revenue: 2_000_000}, "true", "annual_revenue: 2000000"},
		{"Is its revenue $1-5M?", co{revenue: 500_000}, "false", "annual_revenue: 500000"},
		{"Does it have 1-5k employees?", german, "", ambiguous},
		{"Does it have 1-5k employees?", co{people: 2000}, "true", "employee_count: 2000"},
		{"Does it have between 100 and 1k employees?", german, "true", "employee_count: 300"},
		{"Does it have between 500 and 100 employees?", german, "", notUnderstood},
		{"Is its revenue over 5?", german, "", notUnderstood},
		{"Was it founded after 99?", german, "", notUnderstood},
		{"Was it founded in the 1900s?", co{year: 1950}, "", notUnderstood},
		{"Does it have more than 200 employees worldwide?", german, "true", "employee_count: 300"},
		{"Does it have between 50-500 employees?", german, "true", "employee_count: 300"},
		{"Does it have 50 - 500 employees?", german, "true", "employee_count: 300"},
		{"Is its revenue $10M – $60M?", german, "true", "annual_revenue: 50000000"},
		{"Was it founded before the year 2000?", german, "false", "founded_year: 2015"},
		{"Could you check if the company has more than 100 employees?", german, "true", "employee_count: 300"},
		{"I would like to know whether it has over 100 employees", german, "true", "employee_count: 300"},
		{"Is it a bank?", tags("payments|banks"), "", notInCatalog},
		{"Is it a bank?", tags("bank"), "", notInCatalog},
		{"Is it a marketplace?", tags("marketplace|payments"), "", notInCatalog},
		{"Is it a startup?", tags("startups|startup"), "", notInCatalog},
		{"Is it a non-profit organization?", tags("non-profit"), "", notInCatalog},
		{"Is it hiring?", tags("hr|hiring"), "", notInCatalog},
		{"Is it recruiting?", in("Recruiting"), "", notInCatalog},
		{"Is it remote?", tags("remote"), "", notInCatalog},
		{"Is it a public company?", tags("public"), "", notInCatalog},
		{"Is it an enterprise?", tags("saas|enterprise"), "", notInCatalog},
		{"Is it a SaaS company?", tags("saas|enterprise"), "true", "keywords: saas"},
		{"Is it Series A?", tags("series"), "", notInCatalog},
		{"Is it Series A?", tags("Series A"), "true", "keywords: Series A"},
		{"Is it a marketing agency?", co{tags: "marketing", industry: "Marketing"}, "", notInCatalog},
		{"Is it a government agency?", tags("government|defense"), "", notInCatalog},
		{"Is it an AI startup?", tags("ai"), "", notInCatalog},
		{"Is it a fintech startup?", in("Fintech"), "", notInCatalog},
		{"Is it a family business?", tags("family|toys"), "", notInCatalog},
		{"Is it a social enterprise?", tags("social"), "", notInCatalog},
		{"Is it a software business?", in("Software"), "true", "industry: Software"},
		{"Does it provide internet?", in("Internet"), "", notInCatalog},
		{"Does it provide healthcare?", in("Healthcare"), "", notInCatalog},
		{"Does it offer food?", in("Pet Food"), "", notInCatalog},
		{"Is it an intelligence company?", in("Business Intelligence"), "", notInCatalog},
		{"Is it a management company?", in("Waste Management"), "", notInCatalog},
		{"Is it a development company?", in("Software Development"), "", notInCatalog},
		{"Is it a software company?", in("Software Development"), "true", "industry: Software Development"},
		{"Is it in retail?", co{industry: "Retail", country: "Germany"}, "true", "industry: Retail"},
		{"Is the company in food and beverage?", in("Food and Beverage"), "true", "industry: Food and Beverage"},
		{"Does it have fewer than 500 employees?", co{}, "", notInCatalog},
		{"Does it have a US phone number?", co{}, "", notInCatalog},
		{"Does it have a US website?", co{}, "", notInCatalog},
		{"Is the product free?", tags("free"), "", notUnderstood},
		{"Does it have more than 50 business people?", german, "", notUnderstood},
		{"They have over 100 employees", german, "true", "employee_count: 300"},
	})
	check(t, crm.NumberField, "", []row{
		{"How many employees does it have in the US?", german, "", notUnderstood},
		{"What is its US revenue?", german, "", notUnderstood},
		{"How many people does it work with?", german, "", notUnderstood},
		{"What is its revenue per account?", german, "", notUnderstood},
		{"How many employees did it have?", german, "", notUnderstood},
		{"Tell me how many employees it has", german, "300", "employee_count: 300"},
	})
	check(t, crm.TextField, "", []row{
		{"Where does the company do business?", german, "", notUnderstood},
		{"Where in the US is it based?", german, "", notUnderstood},
		{"Which city is it based in?", co{country: "Germany"}, "", notInCatalog},
		{"Where is it based?", co{country: "Germany"}, "Germany", "country: Germany"},
		{"How do its employees work?", german, "", notUnderstood},
	})
	check(t, crm.EnumField, "1 to 5 million|More than 5 million", []row{
		{"What is its annual revenue?", co{revenue: 500_000}, "", notInCatalog},
		{"What is its annual revenue?", co{revenue: 2_000_000}, "1 to 5 million", "annual_revenue: 2000000"},
	})
	check(t, crm.EnumField, "0-1|1-10|10-50|50+", []row{{"What is its annual revenue?", german, "", notUnderstood}})
	check(t, crm.EnumField, "Public|Private|Nonprofit|Government", []row{
		{"What type of company is it?", tags("government|nonprofits|public"), "", notInCatalog},
	})
	unknown := co{}.company()
	unknown.EmployeeCount.Valid, unknown.FoundedYear.Valid = true, true
	for _, n := range numerics {
		if n.of(unknown).Valid {
			t.Errorf("%s: 0 is taken for a number", n.field)
		}
	}
}

func TestOtherNames(t *testing.T) {
	tech := func(list string) co { return co{tech: list} }
	check(t, crm.BooleanField, "", []row{
		{"Is the company using Salesforce?", tech("Salesforce"), "true", "technologies: Salesforce"},
		{"Are they using Salesforce?", tech("Salesforce CRM"), "true", "technologies: Salesforce CRM"},
		{"Is the company on Salesforce?", tech("Salesforce"), "true", "technologies: Salesforce"},
		{"Does it use AWS?", tech("Amazon Web Services"), "true", "technologies: Amazon Web Services"},
		{"Does it use Amazon Web Services?", tech("AWS"), "true", "technologies: AWS"},
		{"Does it use Microsoft Azure?", tech("Azure"), "true", "technologies: Azure"},
		{"Does it use Google Cloud Platform?", tech("Google Cloud"), "true", "technologies: Google Cloud"},
		{"Does it use Google Analytics?", tech("Adobe Analytics|Analytics"), "", notInCatalog},
		{"Does it use Salesforce?", tech("Salesforce (CRM)"), "true", "technologies: Salesforce (CRM)"},
		{"Does it use Salesforce?", tech("Salesforce (dropped 2021)"), "", notInCatalog},
		{"Does it use Salesforce?", tech("Salesforce (no)|Salesforce (planned)|Salesforce (formerly)"), "", notInCatalog},
		{"Does it use Microsoft?", tech("Microsoft 365"), "", notInCatalog},
		{"Does it use our product?", tech("Product"), "", notUnderstood},
		{"Check if they use Salesforce", tech("Salesforce"), "true", "technologies: Salesforce"},
	})
	check(t, crm.EnumField, "Salesforce|HubSpot", []row{{"Which CRM is the company using?", tech("HubSpot"), "HubSpot", "technologies: HubSpot"}})
	check(t, crm.EnumField, "Before 2000|2000-2010|2011 or later", []row{
		{"When was the company founded?", co{year: 1999}, "Before 2000", "founded_year: 1999"},
		{"When was the company founded?", co{year: 2015}, "2011 or later", "founded_year: 2015"},
	})
}

func TestPlacesThatDoNotTell(t *testing.T) {
	german := co{country: "Germany", place: "Berlin"}
	us := co{country: "United States", place: "Boston"}
	also := func(country, about string) co { return co{country: country, about: about} }
	check(t, crm.BooleanField, "", []row{
		{"Is it based in US/Canada?", us, "", notUnderstood},
		{"Is the company based in the US, Canada?", us, "", notUnderstood},
		{"Is it headquartered in Germany, Austria, Switzerland?", german, "", notUnderstood},
		{"Is it based in Berlin/Austria?", german, "", notUnderstood},
		{"Is it based in Berlin, Vienna, Austria?", german, "", ambiguous},
		{"Is it based in Atlanta, Georgia, United States?", co{country: "US", place: "Atlanta, Georgia"}, "true", "location: Atlanta, Georgia"},
		{"Is it headquartered in Israel?", also("United States", "Acme Tools has dual headquarters in New York and Tel Aviv, Israel."), "", ambiguous},
		{"Is it based in France?", also("Germany", "Headquartered in Paris, France, Acme Tools makes saws."), "", ambiguous},
		{"Is it located in France?", also("Germany", "We have offices in Germany, France and Spain."), "", ambiguous},
		{"Is it based in France?", also("Germany", "Acme Tools is a French company."), "", ambiguous},
		{"Is it based in the US?", also("Germany", "Join us."), "false", "country: Germany"},
		{"Is it based in the United States?", also("Germany", "We are in the US."), "", ambiguous},
		{"Is it based in Ireland?", co{country: "United Kingdom", place: "Belfast, Northern Ireland"}, "", ambiguous},
		{"Is it headquartered in the United States of America?", us, "true", "country: United States"},
		{"Is it based in the Republic of Korea?", co{country: "South Korea"}, "true", "country: South Korea"},
		{"Is the headquarters in Germany?", german, "true", "country: Germany"},
		{"Are the company's headquarters in Germany?", german, "true", "country: Germany"},
		{"Is its headquarters in France?", german, "false", "country: Germany"},
		{"Is the company from Germany?", german, "true", "country: Germany"},
		{"Is the company from France?", german, "", notInCatalog},
		{"Is it a German company?", german, "true", "country: Germany"},
		{"Is it a French company?", german, "", notInCatalog},
		{"Is it a French company?", also("Germany", "It is a French company."), "", ambiguous},
		{"Is it a French company?", also("", "It is a French company."), "true", "It is a French company."},
		{"Is it US based?", us, "true", "country: United States"},
		{"Is it a US company?", us, "true", "country: United States"},
		{"Is it a US company?", german, "", notInCatalog},
		{"Is it based in the US?", co{place: "San Francisco, CA, USA"}, "true", "location: San Francisco, CA, USA"},
		{"Based in Germany", german, "true", "country: Germany"},
		{"Headquartered in France?", german, "false", "country: Germany"},
	})
}
