package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"prospector/internal/shape"
)

// companyName returns the name and the domain of a company. Both are unique within a generated
// market.
func (g Generation) companyName(i int) (name, domain string) {
	first, second, third := words().CompanyFirst, words().CompanySecond, words().CompanyThird
	names := len(first) * len(second)
	// 7919 is prime, so every combination occurs before one repeats.
	n := int((uint64(i)*7919 + mixed(g.Seed)%uint64(names)) % uint64(names))
	name = first[n%len(first)] + " " + second[n/len(first)]
	domain = slug(name)
	if round := i / names; round > 0 {
		name += " " + third[(round-1)%len(third)]
		domain = slug(name)
		if round > len(third) {
			domain += "-" + strconv.Itoa((round-1)/len(third)+1)
		}
	}
	return name, domain + ".example"
}

func slug(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }

func (g Generation) company(i int) Company {
	d := g.dice(companyDice, i)
	c := Company{ID: d.id(i)}
	name, domain := g.companyName(i)
	if i > 0 && d.chance(1) { // a duplicate, as another data source would list it
		name, domain = g.companyName(i - 1 - d.IntN(min(i, 50)))
		name += " " + d.one([]string{"Inc.", "GmbH", "Ltd.", "Group"})
	}
	in := words().Industries[d.IntN(len(words().Industries))]
	where := words().Towns[d.IntN(len(words().Towns))]
	employees := 2 + d.IntN(8)
	for d.chance(60) && employees < 50_000 {
		employees *= 2 + d.IntN(3)
	}
	founded := 2024 - d.IntN(30) - d.IntN(90)*d.IntN(2)
	c.Name, c.Website = name, shape.Text(domain)
	c.Industry, c.SubIndustry = shape.Text(in.Name), shape.Text(d.one(in.Parts))
	c.EmployeeCount, c.FoundedYear = shape.NumberOf(float64(employees)), shape.NumberOf(float64(founded))
	c.AnnualRevenue = shape.NumberOf(float64(employees * (60 + d.IntN(240)) * 1000))
	c.Country, c.Location = shape.Text(where.Country), shape.Text(where.City)
	c.Technologies = d.some(words().Technologies, 1, 6)
	c.Keywords = append(d.some(in.Keywords, 1, 3), d.some(words().Keywords, 0, 2)...)
	c.LinkedinURL = shape.Text("https://linkedin.example/company/" + strings.TrimSuffix(domain, ".example"))
	c.PhoneNumber = shape.Text(phone(d))
	c.Description = shape.Text(describe(d, c, in))
	for _, field := range []*shape.Text{&c.Website, &c.Description, &c.SubIndustry, &c.Location, &c.LinkedinURL, &c.PhoneNumber} {
		if d.chance(3) {
			*field = ""
		}
	}
	for _, field := range []*shape.Number{&c.EmployeeCount, &c.AnnualRevenue, &c.FoundedYear} {
		if d.chance(4) {
			*field = shape.Number{}
		}
	}
	return c
}

func phone(d dice) string { return fmt.Sprintf("+1 555 01%02d %03d", d.IntN(100), d.IntN(1000)) }

// describe writes a few sentences that research questions about the company can be answered from.
func describe(d dice, c Company, in industry) string {
	sentences := []string{
		fmt.Sprintf("%s %s %s %s.", c.Name, d.one([]string{"makes", "offers",
			"develops"}), d.one(in.Products), d.one(in.Customers)),
		fmt.Sprintf("It was founded in %.0f in %s and has about %.0f employees.", c.FoundedYear.Float, c.Location, c.EmployeeCount.Float),
	}
	for _, facts := range words().Facts {
		if d.chance(70) {
			sentences = append(sentences, strings.ReplaceAll(d.one(facts), "{country}", string(c.Country)))
		}
	}
	if d.chance(60) {
		sentences = append(sentences, "Its teams work with "+c.Technologies[0]+".")
	}
	return strings.Join(sentences, " ")
}

// personName returns the name of a person and the last part of the profile's address. First names
// repeat within a company only when all of them are used.
func (g Generation) personName(i, j int) (first, last, profile string) {
	at := g.dice(personDice, i).IntN(len(words().FirstNames))
	first, last = words().FirstNames[(at+j)%len(words().FirstNames)], g.dice(personDice, i, j).one(words().LastNames)
	return first, last, slug(first + " " + last + " " + strconv.FormatInt(int64(i), 36) + " " + strconv.FormatInt(int64(j), 36))
}

func (g Generation) person(i, j int, company Company) Person {
	d := g.dice(personDice, i, j)
	first, last, profile := g.personName(i, j)
	p := Person{ID: d.id(i), CompanyID: shape.Text(company.ID), Country: company.Country, Location: company.Location}
	if j > 0 && d.chance(2) { // a duplicate, as another data source would list it
		first, last, profile = g.personName(i, j-1)
	}
	domain := string(company.Website)
	if domain == "" {
		_, domain = g.companyName(i)
	}
	dept := words().Departments[d.IntN(len(words().Departments))]
	p.Title, p.Department = shape.Text(title(d, dept, j)), shape.Text(dept.Name)
	p.FirstName, p.LastName = shape.Text(first), shape.Text(last)
	p.Email = shape.Text(strings.ToLower(first+"."+last) + "@" + domain)
	p.LinkedinURL = shape.Text("https://linkedin.example/in/" + profile)
	p.PhoneNumber = shape.Text(phone(d))
	if d.chance(15) {
		where := words().Towns[d.IntN(len(words().Towns))]
		p.Country, p.Location = shape.Text(where.Country), shape.Text(where.City)
	}
	for _, field := range []*shape.Text{&p.CompanyID, &p.Title} {
		if d.chance(1) {
			*field = ""
		}
	}
	for _, field := range []*shape.Text{&p.Email, &p.LinkedinURL, &p.PhoneNumber, &p.Department} {
		if d.chance(8) {
			*field = ""
		}
	}
	return p
}

// title returns a title of any seniority. The first person of a company mostly leads it.
func title(d dice, dept department, j int) string {
	if j == 0 && d.chance(60) {
		return d.one(words().Leaders)
	}
	area, role := dept.Area, d.one(dept.Roles)
	return d.one([]string{
		dept.Chief, "EVP " + area, "Executive Vice President, " + area, "SVP " + area, "Senior Vice President " + area, "VP " + area, "VP of " + area,
		"Vice President of " + area, "Senior Director of " + area, "Director of " + area, "Head of " + area, "Senior " + area + " Manager",
		area + " Manager", area + " Manager",
		"Team Lead " + area, "Senior " + role, "Senior " + role, "Lead " + role, role, role, role,
	})
}
