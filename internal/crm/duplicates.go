package crm

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// DuplicateGroup is a group of records that have something in common which should tell them apart.
type DuplicateGroup[T any] struct {
	By      string `json:"by" doc:"What the records have in common: email, linkedin_url, website or name."`
	Value   string `json:"value"`
	Count   int    `json:"count" doc:"The number of records. At most 1,000 are counted."`
	Records []T    `json:"records" doc:"The oldest first, at most 100."`
}

// MarshalJSON encodes the records as they are stored.
func (g DuplicateGroup[T]) MarshalJSON() ([]byte, error) {
	type plain DuplicateGroup[T]
	return json.Marshal(plain(g), json.Deterministic(true))
}

// DuplicatePage is one page of groups.
type DuplicatePage[T any] struct {
	Groups []DuplicateGroup[T] `json:"groups" doc:"May be fewer than page_size, or none, although more follow."`
	Next   shape.Text          `json:"next" doc:"The cursor of the next page. Null on the last page."`
}

const (
	// MaxMerged is the number of records that one merge folds into another.
	MaxMerged = 100
	// maxCounted bounds the records of a group that are counted.
	maxCounted = 1000
	// keysPerSearch is the number of key entries that FindDuplicates reads in one transaction.
	keysPerSearch = 10_000
	// recordsPerPage bounds the records of all groups on a page.
	recordsPerPage = 1000
)

// shared is something that several records may have in common, which a secondary key finds.
type shared[T any] struct {
	by, key string
	of      func(*T) string // the value of the key, or "" for a record that does not count
	show    func(*T) string // the value that callers see
}

// SharedByContacts and SharedByAccounts are what duplicates are found by, in order.
func (c *CRM) SharedByContacts() []shared[Contact] {
	email := func(c *Contact) string { return address.Key(string(c.Email)) }
	linkedIn := func(c *Contact) string { return address.LinkedIn(string(c.LinkedinURL)) }
	return []shared[Contact]{
		{"email", record.MatchKey("email"), email, email},
		{"linkedin_url", record.MatchKey("linkedin_url"), linkedIn, linkedIn},
		{"name", ByName, func(c *Contact) string {
			if !c.AccountID.Valid {
				return ""
			}
			return contactNameKey(c)
		}, func(c *Contact) string { return string(c.FirstName) + " " + string(c.LastName) }},
	}
}

// SharedByAccounts is SharedByContacts for accounts. A website on a shared host has no key.
func (c *CRM) SharedByAccounts() []shared[Account] {
	website := func(a *Account) string { return c.hosts.Key(string(a.Website)) }
	return []shared[Account]{
		{"website", record.MatchKey("website"), website, website},
		{"linkedin_url", byLinkedIn, accountLinkedIn, accountLinkedIn},
		{"name", ByName, accountNameKey, func(a *Account) string { return a.Name }},
	}
}

// byLinkedIn is the secondary key that finds accounts by the canonical form of their LinkedIn URL.
const byLinkedIn = "linkedin"

func accountLinkedIn(a *Account) string { return address.LinkedIn(string(a.LinkedinURL)) }

// FindDuplicates continues a page of duplicates from its cursor, which is empty at the beginning. It reads a
// bounded number of keys and reports whether the page is complete.
func FindDuplicates[T any](tx *store.Tx, k *record.Kind[T], by []shared[T], page *DuplicatePage[T], size int) (done bool, err error) {
	at, from, err := parseCursor(by, string(page.Next))
	if err != nil {
		return false, err
	}
	budget, records := keysPerSearch, 0
	for _, g := range page.Groups {
		records += len(g.Records)
	}
	for {
		group, next, err := nextGroup(tx, k, &by[at], from, &budget)
		if err != nil {
			return false, err
		}
		if group != nil {
			page.Groups = append(page.Groups, *group)
			records += len(group.Records)
		}
		if from = next; next == nil {
			if at++; at == len(by) {
				page.Next = ""
				return true, nil
			}
		}
		page.Next = cursor(by[at].by, from)
		if full := len(page.Groups) == size || records >= recordsPerPage; full || budget <= 0 {
			return full, nil
		}
	}
}

// nextGroup returns the next group of records, or nil if the budget is used up first, and where to continue: nil
// at the end of the key.
func nextGroup[T any](tx *store.Tx, k *record.Kind[T], s *shared[T], from []byte, budget *int) (group *DuplicateGroup[T], next []byte, err error) {
	var key []byte
	var ids []uuid.UUID
	ended := true
	err = k.Table.Range(tx, s.key, from, func(at []byte, id uuid.UUID) bool {
		if string(at) != string(key) {
			if len(ids) > 1 || *budget <= 0 && len(key) > 0 {
				ended = false
				return false
			}
			key, ids = append(key[:0], at...), ids[:0]
		}
		*budget--
		if len(ids) == maxCounted { // the rest of the group is skipped
			ended = false
			return false
		}
		ids = append(ids, id)
		return true
	})
	if err != nil {
		return nil, nil, err
	}
	if !ended {
		next = append(key, 1) // behind the terminator of the key
	}
	if len(ids) < 2 {
		return nil, next, nil
	}
	group = &DuplicateGroup[T]{By: s.by, Records: []T{}}
	err = k.Table.Each(tx, ids, func(doc store.Doc[T]) error {
		if s.of(&doc.Record) == "" || len(group.Records) > 0 && s.of(&doc.Record) != s.of(&group.Records[0]) {
			return nil // the key is not up to date
		}
		if group.Count++; group.Count <= MaxMerged {
			group.Records = append(group.Records, doc.Record)
		}
		return nil
	})
	if err != nil || group.Count < 2 {
		return nil, next, err
	}
	group.Value = s.show(&group.Records[0])
	return group, next, nil
}

func cursor(by string, from []byte) shape.Text {
	return shape.Text(base64.RawURLEncoding.EncodeToString(append([]byte(by+":"), from...)))
}

// parseCursor returns the position in by and the key that a cursor names.
func parseCursor[T any](by []shared[T], text string) (at int, from []byte, err error) {
	if text == "" {
		return 0, nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if name, key, ok := strings.Cut(string(raw), ":"); err == nil && ok {
		for i := range by {
			if by[i].by == name {
				return i, []byte(key), nil
			}
		}
	}
	var p fault.Problems
	p.Invalid("next", "%s is not the cursor of a page", shape.Quote(text))
	return 0, nil, p.Err()
}
