package handlers

import "prospector/store"

// Portions returns what the package has in the store.
func (a *API) Portions() []store.Portion {
	return []store.Portion{{Table: a.responses.table, WhyLeft: "answers to requests are repeated for a day"}}
}
