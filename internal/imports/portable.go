package imports

import (
	"github.com/google/uuid"

	"prospector/store"
)

// Portions returns what the package has in the store of an organization.
func (t *Tables) Portions() []store.Portion {
	return []store.Portion{{Table: t.Imports}, {Parts: t.rejects}, {Parts: t.problems}}
}

// Payloads returns the types of the payloads of jobs, by kind. Imports that were running do not go on elsewhere.
func (i *Imports) Payloads() map[string]func() any {
	return map[string]func() any{expireJob: func() any { return new(runPayload) }}
}

// Arrived fails the imports that were running when their organization was exported: their files are not here.
func (i *Imports) Arrived(tx *store.Tx) error {
	var running []uuid.UUID
	err := i.Imports.Scan(tx, func(d store.Doc[FileImport]) (bool, error) {
		if !d.Record.hasEnded() {
			running = append(running, d.ID)
		}
		return true, nil
	})
	for _, id := range running {
		if err == nil {
			err = i.failIn(tx, id, "the organization was exported while the import was running; what it had imported before stays")
		}
	}
	return err
}
