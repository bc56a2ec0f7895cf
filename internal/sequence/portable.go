package sequence

import (
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Portions returns what the package has in the store of an organization.
func (e *Engine) Portions() []store.Portion {
	return []store.Portion{
		{Table: e.sequences}, {Counter: e.stops}, {Parts: e.counters, Check: e.verifyCounters},
		// A message may be there under its other id. The id of its header is unique in the installation.
		{Table: e.messages, DropKey: func(rec any) { rec.(*Message).state.HeaderID = "" }},
		{Parts: e.ledgers, Rename: renameLedger}, {Parts: e.recipients, Rename: renameRecipient},
		{Parts: e.parts, Rename: renameJobs},
		{Parts: e.changes, Rename: store.RenameJSON[change]()},
		{Sets: e.newcomers, Pairs: e.changesAndAudiences, Owner: func(pair [2]uuid.UUID) uuid.UUID { return newcomersOf(pair[0], pair[1]) }},
	}
}

// Steps returns the types of what the package adds to journals, by kind.
func Steps() map[string]func() any {
	return map[string]func() any{OwnershipStep: func() any { return new(ownership) }}
}

// changesAndAudiences returns the changes that have newcomers, with the audiences that these have joined.
func (e *Engine) changesAndAudiences(tx *store.Tx) (pairs [][2]uuid.UUID, err error) {
	owners, err := e.changes.Owners(tx)
	for _, id := range owners {
		c, err := e.readChange(tx, id)
		if err != nil || c == nil {
			continue // a damaged one names no audiences
		}
		for _, audience := range c.Audiences {
			pairs = append(pairs, [2]uuid.UUID{id, audience})
		}
	}
	return pairs, err
}

// renameLedger renames the ids in what is stored of a sender, or of the tests of the organization.
func renameLedger(r *shape.Renaming, owner *uuid.UUID, n uint32, value []byte) ([]byte, error) {
	if n == testsPart {
		*owner = r.ID(*owner)
		return value, nil
	}
	return store.RenameJSON[storedLedger]()(r, owner, n, value)
}

// renameRecipient renames the sequence in the last email to an address. The owner is made of the address.
func renameRecipient(r *shape.Renaming, _ *uuid.UUID, _ uint32, value []byte) ([]byte, error) {
	if len(value) != 24 {
		return value, nil
	}
	sequence := r.ID(uuid.UUID(value[8:]))
	return append(value[:8:8], sequence[:]...), nil
}

// renameJobs renames the jobs of the organization.
func renameJobs(r *shape.Renaming, owner *uuid.UUID, n uint32, value []byte) ([]byte, error) {
	if n == editionPart || n == linkKeyPart {
		*owner = r.ID(*owner)
		return value, nil
	}
	return store.RenamePacked(r, owner, n, value)
}

// Rename renames the ids in the key of held steps too.
func (w *stopWork) Rename(r *shape.Renaming) error {
	if len(w.Held) == 1+16 {
		w.Held = heldKey(w.Held[0], r.ID(uuid.UUID(w.Held[1:])))
	}
	return r.Fields(w)
}
