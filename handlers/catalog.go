package handlers

import (
	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/catalog"
)

// catalogOperations returns the operations on the catalog, which all organizations share and none can change.
func (a *API) catalogOperations() []Operation {
	return []Operation{
		catalogList[catalog.Company](a.Catalog.CompanyList, `{"filters": [{"field": "technologies", "condition": "is", "value": "Kubernetes"}], "search": "software", "page_size": 50}`),
		catalogList[catalog.Person](a.Catalog.PersonList, `{"filters": [{"field": "seniority", "condition": "is", "value": ["VP", "C-Level"]}], "sort": "last_name", "page_size": 50}`),
	}
}

func catalogList[T any](kind *index.Kind, example string) Operation {
	return listOfOrg[T](Operation{
		Name: "list_" + kind.Entity, Path: "/v1/" + kind.Entity + "/list", example: []byte(example),
		Summary: "List the " + kind.Entity + " of the catalog, with filters, search and sorting",
	}, kind, func(*call) uuid.UUID { return catalog.Org })
}
