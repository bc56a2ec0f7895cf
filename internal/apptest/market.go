package apptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/shape"
)

// AcceptImport accepts the Import of a Preview and returns its id.
func AcceptImport(org *Org, preview string) string {
	return org.Write.Post(PreviewsPath+"/"+preview+"/import", nil).Is(202).Text("data.operation_id")
}

// PreviewsPath is the path of Previews.
const PreviewsPath = "/v1/tam/preview"

// ReadyPreview prepares a Preview with a new request_id and returns its id. fields contains the
// other members of the request, as an object.
func ReadyPreview(o *Org, fields string) string {
	return PreparedPreview(o, fields).Text("data.preview_id")
}

// PreparedPreview requests and prepares a Preview, and reads it.
func PreparedPreview(o *Org, fields string) *Response {
	id := AskedPreview(o, fields)
	o.Work()
	return o.Read.Get(PreviewsPath + "/" + id).Is(200)
}

// AskedPreview requests a Preview and returns its id.
func AskedPreview(o *Org, fields string) string {
	return o.Write.Post(PreviewsPath, PreviewBody(fields)).Is(202).Text("data.preview_id")
}

// PreviewBody returns a request with a new request_id, unless the fields contain one.
func PreviewBody(fields string) map[string]any {
	request := map[string]any{"request_id": uuid.New(), "company_filters": map[string]any{}}
	for k, v := range Object(fields) {
		request[k] = v
	}
	return request
}

// Firm returns a company of the catalog whose website contains its id.
func Firm(id string) catalog.Company {
	return catalog.Company{ID: id, Name: "Firm " + id, Website: shape.Text(id + ".example")}
}

// Worker returns a person of the catalog whose email address contains the id.
func Worker(id, company, title string) catalog.Person {
	return catalog.Person{ID: id, CompanyID: shape.Text(company), FirstName: "Ada", Title: shape.Text(title), Email: shape.Text(id + "@mail.example")}
}

// Exported returns all records of an entity.
func Exported(t *testing.T, o *Org, entity string) (records []map[string]any) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(o.Read.Post("/v1/"+entity+"/export", `{"format": "jsonl"}`).Is(200).Body))
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var record map[string]any
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	return records
}

// FullFirm has a value in each field that an Import copies.
func FullFirm(id string) catalog.Company {
	c := Firm(id)
	c.Industry, c.EmployeeCount, c.AnnualRevenue, c.FoundedYear = "Wood", shape.NumberOf(12), shape.NumberOf(1.5), shape.NumberOf(1999)
	c.Description, c.Country, c.Location, c.LinkedinURL, c.PhoneNumber = "They saw", "Norway", "Oslo", shape.Text("linkedin.com/company/"+id), "+47 1"
	return c
}

// FullWorker has a value in each field that an Import copies.
func FullWorker(id, company string) catalog.Person {
	p := Worker(id, company, "CEO")
	p.LastName, p.PhoneNumber, p.LinkedinURL, p.Location = "Ås", "+47 2", shape.Text("linkedin.com/in/"+id), "Oslo"
	return p
}

// ImportsPath is the path of Imports of Previews.
const ImportsPath = "/v1/tam/imports/"

// RunImport accepts and runs the Import of a Preview, and summarizes its members: accounts and
// contacts that were created, reused and skipped.
func RunImport(t *testing.T, o *Org, preview string) string {
	t.Helper()
	operation := AcceptImport(o, preview)
	o.Work()
	return ImportedAs(t, o, operation)
}

// ImportedAs summarizes the members of a completed Import.
func ImportedAs(t *testing.T, o *Org, operation string) string {
	t.Helper()
	res := o.Read.Get(ImportsPath + operation).Is(200)
	if res.Text("data.status") != "completed" || res.Int("data.progress") != 1 || res.Value("data.finished_at") == nil || res.Value("data.failure_reason") != nil {
		t.Errorf("%s", res.Body)
	}
	return ImportCounts(res)
}

// ImportCounts summarizes the members of an Import: accounts and contacts that were created, reused and skipped.
func ImportCounts(res *Response) string {
	var counts []string
	for _, kind := range []string{"accounts", "contacts"} {
		at := "data." + kind + "."
		counts = append(counts, fmt.Sprintf("%d %d %d", res.Int(at+"created"), res.Int(at+"reused"), res.Int(at+"skipped")))
	}
	return strings.Join(counts, ", ")
}
