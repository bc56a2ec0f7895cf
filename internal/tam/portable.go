package tam

import (
	"prospector/store"
)

// Portions returns what exports of an organization take along.
func (t *Tables) Portions() []store.Portion {
	const left = "Previews are prepared again"
	return []store.Portion{
		{Table: t.Imports}, {Table: t.months},
		{Table: t.Previews, Left: left}, {Table: t.answers, Left: left}, {Parts: t.members, Left: left},
		{Parts: t.memberSets, Left: left}, {Parts: t.directory, Left: left},
	}
}

// Arrived fails the Imports that were running when their organization was exported: their Previews are not here.
func (t *TAM) Arrived(tx *store.Tx) error {
	var running []*importRun
	err := t.Imports.Scan(tx, func(d store.Doc[Import]) (bool, error) {
		if !d.Record.hasEnded() {
			running = append(running, &importRun{tam: t, id: d.ID})
		}
		return true, nil
	})
	for _, m := range running {
		if err == nil {
			err = m.failIn(tx)
		}
	}
	return err
}
