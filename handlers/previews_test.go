package handlers_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/shape"
	"prospector/internal/tam"
)

const previewPath = "/v1/tam/preview"

// readyPreview prepares a Preview with a fresh request_id; fields are the others of its request, as an object. It gives its id.
func readyPreview(o *apptest.Org, fields string) string {
	return preparedPreview(o, fields).Text("data.preview_id")
}

// preparedPreview asks for a Preview, lets it be prepared, and reads it.
func preparedPreview(o *apptest.Org, fields string) *apptest.Response {
	request := map[string]any{"request_id": uuid.New(), "company_filters": map[string]any{}}
	for k, v := range apptest.Object(fields) {
		request[k] = v
	}
	id := o.Write.Post(previewPath, request).Is(202).Text("data.preview_id")
	o.Work()
	return o.Read.Get(previewPath + "/" + id).Is(200)
}

func TestPreview(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var companies []tam.Company
	var people []tam.Person
	for i := range 3 {
		id := fmt.Sprintf("c%d", i)
		companies = append(companies, tam.Company{ID: id, Name: fmt.Sprintf("Company %d", i), Website: shape.Text(id + ".example"), Country: "Norway"})
		for j := range 2 {
			people = append(people, tam.Person{ID: fmt.Sprintf("p%d%d", i, j), CompanyID: shape.Text(id), FirstName: "Ada", LastName: "Marsh", Title: "VP Sales",
				Email: shape.Text(fmt.Sprintf("ada%d@%s.example", j, id))})
		}
	}
	app.Catalog(companies, people)
	p := preparedPreview(org, `{}`)
	t.Logf("%s", p.Body)
}
