package bulk

import "prospector/store"

// Portions returns what the package has in the store of an organization.
func (b *Bulk) Portions() []store.Portion {
	return []store.Portion{{Parts: b.selection, Rename: store.RenamePacked}}
}

// Payloads returns the types of the payloads of jobs, by kind.
func (b *Bulk) Payloads() map[string]func() any {
	return map[string]func() any{Job: func() any { return new(jobBody) }}
}
