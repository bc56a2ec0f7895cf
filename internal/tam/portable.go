package tam

import (
	"prospector/internal/shape"
	"prospector/store"
)

// Portions returns what the package has in the store of an organization.
func (t *Tables) Portions() []store.Portion {
	const left = "Previews are prepared again"
	return []store.Portion{
		{Table: t.Imports}, {Table: t.months},
		{Table: t.Previews, WhyLeft: left}, {Table: t.answers, WhyLeft: left}, {Parts: t.members, WhyLeft: left, Personal: ofMembers()},
		{Parts: t.memberSets, WhyLeft: left}, {Parts: t.directory, WhyLeft: left},
	}
}

// ofMembers describes the members of Previews for erasures.
func ofMembers() store.Personal {
	return store.Personal{
		Entity: "preview_members", Type: shape.Of[Member](), Components: map[string]*shape.Struct{"MemberData": shape.Of[PersonData]()},
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
