// Package catalog owns the companies and people of the market. All organizations of an installation
// share one catalog, which is stored under the reserved organization Org. The package imports
// catalog files and generates a made-up market. It must not know Previews, Imports or anything else
// that an organization does with the catalog.
package catalog

import (
	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/address"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Org is the reserved organization that stores the catalog.
var Org = uuid.Nil

// Company is a company of the catalog. ID is the id that the data source uses. The store has its
// own id for the record.
type Company struct {
	ID            string       `json:"id" label:"ID" rule:"required,maxlen=255"`
	Name          string       `json:"name" rule:"required,searched,line"`
	Website       shape.Text   `json:"website" rule:"format=website,searched" doc:"A lower-case domain without scheme, www and path. On a host that many companies share, such as linkedin.com, the path is kept."`
	Industry      shape.Text   `json:"industry" rule:"searched"`
	SubIndustry   shape.Text   `json:"sub_industry" rule:"searched"`
	EmployeeCount shape.Number `json:"employee_count" rule:"integer,min=0"`
	AnnualRevenue shape.Number `json:"annual_revenue"`
	FoundedYear   shape.Number `json:"founded_year" rule:"integer,min=0"`
	Description   shape.Text   `json:"description" rule:"maxlen=100000,long,searched"`
	Keywords      []string     `json:"keywords" rule:"searched"`
	Technologies  []string     `json:"technologies" rule:"searched"`
	Country       shape.Text   `json:"country" rule:"searched"`
	Location      shape.Text   `json:"location" rule:"searched"`
	LinkedinURL   shape.Text   `json:"linkedin_url" label:"LinkedIn URL"`
	PhoneNumber   shape.Text   `json:"phone_number"`
}

// Person is a person of the catalog. CompanyID is the catalog id of the employer, which the catalog
// may not contain.
type Person struct {
	ID          string     `json:"id" label:"ID" rule:"required,maxlen=255,personal=id"`
	CompanyID   shape.Text `json:"company_id" label:"Company ID" rule:"maxlen=255,personal"`
	FirstName   shape.Text `json:"first_name" rule:"line,personal"`
	LastName    shape.Text `json:"last_name" rule:"line,personal"`
	Title       shape.Text `json:"title" rule:"line,personal"`
	Seniority   shape.Text `json:"seniority" rule:"personal,enum=Individual Contributor|Senior Individual Contributor|Manager|Senior Manager|Director|Senior Director|VP|SVP|EVP|C-Level|Founder"`
	Department  shape.Text `json:"department" rule:"personal"`
	Email       shape.Text `json:"email" rule:"format=email,personal=address"`
	PhoneNumber shape.Text `json:"phone_number" rule:"personal"`
	LinkedinURL shape.Text `json:"linkedin_url" label:"LinkedIn URL" rule:"personal"`
	Country     shape.Text `json:"country" rule:"personal"`
	Location    shape.Text `json:"location" rule:"personal"`

	pending pendingEmployer
}

// pendingEmployer is the website of an employer that the catalog does not contain yet. When a
// company with this website is added, the person gets its id.
type pendingEmployer struct {
	Website string `json:"website,omitzero" rule:"personal"`
}

// Private returns the part of the record that is stored but never shown.
func (p *Person) Private() any { return &p.pending }

// Catalog holds the tables and lists of companies and people.
type Catalog struct {
	Companies *store.Table[Company]
	People    *store.Table[Person]

	CompanyList *index.Kind
	PersonList  *index.Kind

	hosts    *address.Hosts
	erasures *record.ErasedAddresses
	erased   *store.Table[erased]
}

// New declares the tables and lists of the catalog. hosts decides which websites identify a company.
func New(hosts *address.Hosts) *Catalog {
	c := &Catalog{
		hosts: hosts, erasures: record.NewErasedAddresses(), erased: newErased(),
		Companies: record.NewTable("companies", []store.Unique[Company]{{
			Name: byID, Of: func(c *Company) []byte { return []byte(c.ID) },
		}}, []store.Key[Company]{
			store.TextKey(byWebsite, func(c *Company) string { return hosts.Key(string(c.Website)) }).At(hosts.Version()),
		}),
		People: record.NewTable("people", []store.Unique[Person]{{
			Name: byID, Of: func(p *Person) []byte { return []byte(p.ID) },
		}}, []store.Key[Person]{
			store.TextKey(byCompany, func(p *Person) string { return string(p.CompanyID) }),
			store.TextKey(byAwaited, func(p *Person) string { return hosts.Key(p.pending.Website) }).At(hosts.Version()),
			store.TextKey(byLinkedIn, func(p *Person) string { return address.LinkedIn(string(p.LinkedinURL)) }).At(address.Version),
			store.TextKey(byEmail, func(p *Person) string { return address.Key(string(p.Email)) }).At(address.Version),
		}),
	}
	c.CompanyList = index.NewKind("companies", "name", c.Companies, nil)
	c.PersonList = index.NewKind("people", "last_name", c.People, nil)
	c.CompanyList.ReadOnly, c.PersonList.ReadOnly = true, true
	c.CompanyList.Hosts = hosts
	return c
}

// WebsiteKey returns what identifies the company that a website belongs to. It is "" for a website on a
// shared host.
func (c *Catalog) WebsiteKey(website string) string { return c.hosts.Key(website) }

// StoredWebsite returns a website in the form in which companies have it, or "" if it is not a website.
func (c *Catalog) StoredWebsite(website string) string {
	if address.HostOf(website) == "" {
		return ""
	}
	return c.hosts.Website(website)
}

// Lists returns the list kinds of companies and people.
func (c *Catalog) Lists() []*index.Kind { return []*index.Kind{c.CompanyList, c.PersonList} }

// EmployeeIDs returns the store ids of at most limit people whose employer has the given catalog
// id.
func (c *Catalog) EmployeeIDs(tx *store.Tx, companyID string, limit int) ([]uuid.UUID, error) {
	return c.People.IDs(tx, byCompany, []byte(companyID), limit)
}

// The keys of the catalog's tables.
const (
	byID       = "id"       // unique: the id that the data source uses
	byWebsite  = "website"  // companies: address.Hosts.Key of the website
	byCompany  = "company"  // people: the catalog id of the employer
	byAwaited  = "awaited"  // people: the same of an employer that the catalog does not contain yet
	byLinkedIn = "linkedin" // people
	byEmail    = "email"    // people
)
