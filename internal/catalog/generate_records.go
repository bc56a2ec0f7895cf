package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"prospector/internal/shape"
)

// companyName is the name of a company, and its domain: no two have the same.
func (g Generation) companyName(i int) (name, domain string) {
	names := len(companyFirst) * len(companySecond)
	n := int((uint64(i)*7919 + mixed(g.Seed)%uint64(names)) % uint64(names)) // 7919 is prime, so that all come before one comes again
	name = companyFirst[n%len(companyFirst)] + " " + companySecond[n/len(companyFirst)]
	domain = slug(name)
	if round := i / names; round > 0 {
		name += " " + companyThird[(round-1)%len(companyThird)]
		domain = slug(name)
		if round > len(companyThird) {
			domain += "-" + strconv.Itoa((round-1)/len(companyThird)+1)
		}
	}
	return name, domain + ".example"
}

func slug(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }

func (g Generation) company(i int) Company {
	d := g.dice(companyDice, i)
	c := Company{ID: d.id(i)}
	name, domain := g.companyName(i)
	if i > 0 && d.chance(1) { // the same company once more, as another source has it
		name, domain = g.companyName(i - 1 - d.IntN(min(i, 50)))
		name += " " + d.one([]string{"Inc.", "GmbH", "Ltd.", "Group"})
	}
	in := companyIndustries[d.IntN(len(companyIndustries))]
	where := companyPlaces[d.IntN(len(companyPlaces))]
	employees := 2 + d.IntN(8)
	for d.chance(60) && employees < 50_000 {
		employees *= 2 + d.IntN(3)
	}
	founded := 2024 - d.IntN(30) - d.IntN(90)*d.IntN(2)
	c.Name, c.Website = name, shape.Text(domain)
	c.Industry, c.SubIndustry = shape.Text(in.name), shape.Text(d.one(in.parts))
	c.EmployeeCount, c.FoundedYear = shape.NumberOf(float64(employees)), shape.NumberOf(float64(founded))
	c.AnnualRevenue = shape.NumberOf(float64(employees * (60 + d.IntN(240)) * 1000))
	c.Country, c.Location = shape.Text(where.country), shape.Text(where.city)
	c.Technologies = d.some(technologies, 1, 6)
	c.Keywords = append(d.some(in.keywords, 1, 3), d.some(businessKeywords, 0, 2)...)
	c.LinkedinURL = shape.Text("https://linkedin.example/company/" + strings.TrimSuffix(domain, ".example"))
	c.PhoneNumber = shape.Text(phone(d))
	c.Description = shape.Text(describe(d, c, in))
	for _, left := range []*shape.Text{&c.Website, &c.Description, &c.SubIndustry, &c.Location, &c.LinkedinURL, &c.PhoneNumber} {
		if d.chance(3) {
			*left = ""
		}
	}
	for _, left := range []*shape.Number{&c.EmployeeCount, &c.AnnualRevenue, &c.FoundedYear} {
		if d.chance(4) {
			*left = shape.Number{}
		}
	}
	return c
}

func phone(d dice) string { return fmt.Sprintf("+1 555 01%02d %03d", d.IntN(100), d.IntN(1000)) }

// describe says in a few sentences what somebody could ask about the company.
func describe(d dice, c Company, in industry) string {
	sentences := []string{
		fmt.Sprintf("%s %s %s %s.", c.Name, d.one([]string{"makes", "offers", "develops"}), d.one(in.products), d.one(in.customers)),
		fmt.Sprintf("It was founded in %.0f in %s and has about %.0f employees.", c.FoundedYear.Float, c.Location, c.EmployeeCount.Float),
	}
	for _, facts := range companyFacts {
		if d.chance(70) {
			sentences = append(sentences, strings.ReplaceAll(d.one(facts), "{country}", string(c.Country)))
		}
	}
	if d.chance(60) {
		sentences = append(sentences, "Its teams work with "+c.Technologies[0]+".")
	}
	return strings.Join(sentences, " ")
}

// personName is the name of a person, and what the address of their profile ends in. The first so many at a company have first
// names of their own.
func (g Generation) personName(i, j int) (first, last, profile string) {
	at := g.dice(personDice, i).IntN(len(firstNames))
	first, last = firstNames[(at+j)%len(firstNames)], g.dice(personDice, i, j).one(lastNames)
	return first, last, slug(first + " " + last + " " + strconv.FormatInt(int64(i), 36) + " " + strconv.FormatInt(int64(j), 36))
}

func (g Generation) person(i, j int, company Company) Person {
	d := g.dice(personDice, i, j)
	first, last, profile := g.personName(i, j)
	p := Person{ID: d.id(i), CompanyID: shape.Text(company.ID), Country: company.Country, Location: company.Location}
	if j > 0 && d.chance(2) { // a colleague once more, as another source has them
		first, last, profile = g.personName(i, j-1)
	}
	domain := string(company.Website)
	if domain == "" {
		_, domain = g.companyName(i)
	}
	dept := departments[d.IntN(len(departments))]
	p.Title, p.Department = shape.Text(title(d, dept, j)), shape.Text(dept.name)
	p.FirstName, p.LastName = shape.Text(first), shape.Text(last)
	p.Email = shape.Text(strings.ToLower(first+"."+last) + "@" + domain)
	p.LinkedinURL = shape.Text("https://linkedin.example/in/" + profile)
	p.PhoneNumber = shape.Text(phone(d))
	if d.chance(15) {
		where := companyPlaces[d.IntN(len(companyPlaces))]
		p.Country, p.Location = shape.Text(where.country), shape.Text(where.city)
	}
	for _, left := range []*shape.Text{&p.CompanyID, &p.Title} {
		if d.chance(1) {
			*left = ""
		}
	}
	for _, left := range []*shape.Text{&p.Email, &p.LinkedinURL, &p.PhoneNumber, &p.Department} {
		if d.chance(8) {
			*left = ""
		}
	}
	return p
}

// title is one of any seniority. The first at a company are mostly those who lead it.
func title(d dice, dept department, j int) string {
	if j == 0 && d.chance(60) {
		return d.one(leaders)
	}
	area, role := dept.area, d.one(dept.roles)
	return d.one([]string{
		dept.chief, "EVP " + area, "Executive Vice President, " + area, "SVP " + area, "Senior Vice President " + area, "VP " + area, "VP of " + area,
		"Vice President of " + area, "Senior Director of " + area, "Director of " + area, "Head of " + area, "Senior " + area + " Manager",
		area + " Manager", area + " Manager", "Team Lead " + area, "Senior " + role, "Senior " + role, "Lead " + role, role, role, role,
	})
}
