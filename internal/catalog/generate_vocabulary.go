package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// vocabulary is what a made-up market consists of. Everything is invented.
type vocabulary struct {
	Industries []industry `json:"industries"`
	// Facts are what a company may be. Of each list at most one is true.
	Facts         [][]string   `json:"facts"`
	Technologies  []string     `json:"technologies"`
	Keywords      []string     `json:"keywords"`
	CompanyFirst  []string     `json:"company_first"` // words of the names of companies
	CompanySecond []string     `json:"company_second"`
	CompanyThird  []string     `json:"company_third"`
	Towns         []town       `json:"towns"`
	Departments   []department `json:"departments"`
	Leaders       []string     `json:"leaders"` // titles of who leads a company
	FirstNames    []string     `json:"first_names"`
	LastNames     []string     `json:"last_names"`
}

// industry describes what the companies of an industry make, and for which customers.
type industry struct {
	Name                                 string
	Parts, Products, Customers, Keywords []string
}

type town struct{ Country, City string }

// department is where somebody works. Area is what it is called in titles.
type department struct {
	Name, Area, Chief string
	Roles             []string
}

//go:embed generate_vocabulary.json
var vocabularyJSON []byte

var words = sync.OnceValue(func() (v vocabulary) {
	if err := json.Unmarshal(vocabularyJSON, &v); err != nil {
		panic(fmt.Sprintf("generate_vocabulary.json: %v", err))
	}
	return v
})
