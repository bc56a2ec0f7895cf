package record

import (
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Identity compares what is known of a stored record and of a row that an import takes for the same.
type Identity struct {
	Of     func(rec any) Description // rec is a pointer
	Stored func(*shape.Members) Description
	// IsShared reports whether several records may have a value, such as a role address. As a further value of a row it finds
	// nothing. It may be nil.
	IsShared func(value string) bool
}

// Description is what an Identity knows of a record. It is compared with others of the same kind only.
type Description interface {
	// Agrees reports whether something that both have is the same, such as the name or an address, and whether something differs.
	Agrees(with Description) (agrees, differs bool)
	// Fit says how well two records that share the value of a match field can be one.
	Fit(with Description, field, value string) Fit
	// String returns the description as people read it.
	String() string
}

// Fit is how well two records can be one.
type Fit int

const (
	Apart   Fit = iota // they are not the same
	Unknown            // one of them has too little to tell
	Fits
)

// describe returns the description of a stored record.
func (k *kind) describe(tx *store.Tx, id uuid.UUID) (Description, error) {
	_, public, err := tx.Reader(k.table.Name()).Public(id)
	if err != nil {
		return nil, err
	}
	members := shape.NewMembers(string(public))
	return k.match.Identity.Stored(&members), nil
}

// conflict says that an external_id of a row belongs to somebody else.
func conflict(externalID string, stored, row Description) string {
	return fmt.Sprintf("conflicting_identity: external_id %s is that of %s, and the row is about %s", shape.Quote(externalID), stored, row)
}
