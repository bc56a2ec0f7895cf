package record

import (
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Identity compares what is known of a stored record and of a row that an import takes for the same. Both are described by a
// text.
type Identity struct {
	Of     func(rec any) string // rec is a pointer
	Stored func(*shape.Members) string
	// Agrees reports whether something that both have is the same, such as the name or an address, and whether something differs.
	Agrees func(a, b string) (agrees, differs bool)
	// Fit says how well two records that share the value of a match field can be one.
	Fit func(field, value, a, b string) Fit
	// IsShared reports whether several people may have a value, such as a role address. As a further value of a row it finds
	// nothing.
	IsShared func(value string) bool
	// Show returns a description as people read it.
	Show func(string) string
}

// Fit is how well two records can be one.
type Fit int

const (
	Apart   Fit = iota // they are not the same
	Unknown            // one of them has too little to tell
	Fits
)

// describe returns the description of a stored record.
func (k *kind) describe(tx *store.Tx, id uuid.UUID) (string, error) {
	if k.ops.identity == nil {
		return "", nil
	}
	_, public, err := tx.Reader(k.table.Name()).Public(id)
	if err != nil || public == nil {
		return "", err
	}
	members := shape.NewMembers(string(public))
	return k.ops.identity.Stored(&members), nil
}

// conflict says that an external_id of a row belongs to somebody else.
func (i *Identity) conflict(externalID, stored, row string) string {
	return fmt.Sprintf("conflicting_identity: external_id %s is that of %s, and the row is about %s", shape.Quote(externalID), i.Show(stored), i.Show(row))
}
