package crm

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/duplicate"
	"prospector/internal/fault"
	"prospector/internal/match"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/turn"
	"prospector/store"
)

// DuplicateGroup is a group of records that may be the same.
type DuplicateGroup[T any] struct {
	By      string       `json:"by" doc:"The best sign: email, linkedin_url, website, phone_number or name."`
	Value   string       `json:"value"`
	Score   shape.Number `json:"score" doc:"From 0 to 1. That of the weakest pair that holds the group together."`
	Reasons []string     `json:"reasons" doc:"What the records have in common, and what makes it less certain: same_email, same_linkedin_url, same_website, same_phone_number, same_account, same_country, same_name, swapped_names, nickname, part_of_name, initial, typo, missing_name, other_last_name, different_names, legal_form, other_legal_form or other_country."`
	Count   int          `json:"count" doc:"The number of records."`
	Records []T          `json:"records" doc:"The oldest first, at most 100."`
}

// MarshalJSON encodes the records as they are stored.
func (g DuplicateGroup[T]) MarshalJSON() ([]byte, error) {
	type plain DuplicateGroup[T]
	return json.Marshal(plain(g), json.Deterministic(true))
}

// DuplicatePage is one page of groups.
type DuplicatePage[T any] struct {
	Groups []DuplicateGroup[T] `json:"groups" doc:"The most likely first. A record is in one group at most."`
	Total  int                 `json:"total" doc:"The number of all groups."`
	Next   shape.Text          `json:"next" doc:"The cursor of the next page. Null on the last page."`
}

const (
	// MaxMerged is the number of records that one merge folds into another.
	MaxMerged = 100
	// recordsPerPage bounds the records of all groups on a page.
	recordsPerPage = 1000
	// recordsPerView is the number of records that a search reads in one transaction.
	recordsPerView = 5000
	// keptSearches is the number of organizations whose last search is kept.
	keptSearches = 8
	// pageTime is how long the pages of a list come from one search, although records change.
	pageTime = time.Minute
)

// Duplicates finds the records of a kind that may be the same. T is the kind, and R what is compared of it.
type Duplicates[T, R any] struct {
	kind     *record.Kind[T]
	rules    duplicate.Rules[R]
	read     func(*shape.Members) R
	show     func(by string, rec *T) string
	counters []store.Counter // of everything that a search depends on

	dismissed *store.Table[dismissal]

	mu       sync.Mutex
	searches []*search[R] // of organizations, the last one to search last
}

// search is the last search of an organization.
type search[R any] struct {
	org    uuid.UUID
	turn   chan struct{} // has room for one, who searches or uses the search
	at     time.Time
	of     []uint64 // the counters
	found  *duplicate.Search[R]
	groups map[float64][]duplicate.Group // by the least score
}

// newDuplicates declares the search for duplicates of a kind. Reading a record of a kind that it refers to shows what also
// lists as refer to.
func newDuplicates[T, R any](
	k *record.Kind[T], rules duplicate.Rules[R], read func(*shape.Members) R, show func(string, *T) string, also ...store.Counter,
) *Duplicates[T, R] {
	d := &Duplicates[T, R]{kind: k, rules: rules, read: read, show: show}
	d.dismissed = store.NewTable[dismissal](k.Entity+"-dismissed", nil, nil).Unlogged()
	d.counters = append(also, k.Table.Counter(), dismissals(k.Entity))
	return d
}

func (c *CRM) declareDuplicates() {
	c.ContactDuplicates = newDuplicates(c.Contacts, duplicate.Contacts(), func(m *shape.Members) duplicate.Contact {
		account := m.Text("account_id")
		r := duplicate.Contact{Account: account}
		first := m.Text("first_name")
		r.Name = match.NewPerson(first, m.Text("last_name"))
		r.AddEmail(m.Text("email"))
		for _, email := range otherTexts(m) {
			r.AddEmail(email)
		}
		r.AddPhone(m.Text("phone_number"))
		for _, phone := range m.Texts("other_phones") {
			r.AddPhone(phone)
		}
		if url := address.LinkedIn(m.Text("linkedin_url")); identifiesPerson(url) {
			r.LinkedIn = url
		}
		return r
	}, func(by string, c *Contact) string {
		switch by {
		case "email":
			return address.Key(string(c.Email))
		case "linkedin_url":
			return address.LinkedIn(string(c.LinkedinURL))
		case "phone_number":
			return string(c.PhoneNumber)
		}
		return joinNames(c.FirstName, c.LastName)
	}, c.Accounts.Table.Counter())
	c.AccountDuplicates = newDuplicates(c.Accounts, duplicate.Accounts(), func(m *shape.Members) (r duplicate.Account) {
		r.Name, r.LegalForm = match.Company(m.Text("name"))
		r.Website = c.hosts.Key(m.Text("website"))
		r.Country = match.Fold(m.Text("country"))
		r.LinkedIn = address.LinkedIn(m.Text("linkedin_url"))
		r.Phone = match.Phone(m.Text("phone_number"))
		return r
	}, func(by string, a *Account) string {
		switch by {
		case "website":
			return c.hosts.Key(string(a.Website))
		case "linkedin_url":
			return address.LinkedIn(string(a.LinkedinURL))
		}
		return a.Name
	})
}

// Page returns a page of the groups with a score from min on. next is the cursor of the page before, or "".
func (d *Duplicates[T, R]) Page(
	ctx context.Context, st *store.Store, org uuid.UUID, min float64, next string, size int,
) (page DuplicatePage[T], err error) {
	page.Groups = []DuplicateGroup[T]{}
	after, err := parseCursor(next)
	if err != nil {
		return page, err
	}
	groups, err := d.Groups(ctx, st, org, min, next != "")
	if err != nil {
		return page, err
	}
	page.Total = len(groups)
	if after != nil {
		at, _ := slices.BinarySearchFunc(groups, *after, func(g duplicate.Group, c position) int { return c.compare(positionOf(&g)) })
		groups = groups[at:]
		if len(groups) > 0 && positionOf(&groups[0]) == *after {
			groups = groups[1:]
		}
	}
	records := 0
	err = st.View(org, func(tx *store.Tx) error {
		for i := range groups {
			if len(page.Groups) == size || records >= recordsPerPage {
				page.Next = positionOf(&groups[i-1]).cursor()
				return nil
			}
			g, err := d.group(tx, &groups[i])
			if err != nil {
				return err
			}
			if records += len(g.Records); g.Count > 1 {
				page.Groups = append(page.Groups, g)
			}
		}
		return nil
	})
	return page, err
}

// group reads the records of a group.
func (d *Duplicates[T, R]) group(tx *store.Tx, of *duplicate.Group) (g DuplicateGroup[T], err error) {
	g = DuplicateGroup[T]{By: of.Reasons.By(), Score: shape.NumberOf(of.Score), Reasons: of.Reasons.Names(), Count: len(of.IDs), Records: []T{}}
	shown := of.IDs[:min(len(of.IDs), MaxMerged)]
	err = d.kind.Table.Each(tx, slices.DeleteFunc(slices.Clone(shown), func(id uuid.UUID) bool { return !d.kind.Table.Has(tx, id) }), func(doc store.Doc[T]) error {
		if g.Value == "" {
			g.Value = d.show(g.By, &doc.Record)
		}
		g.Records = append(g.Records, doc.Record)
		return nil
	})
	g.Count -= len(shown) - len(g.Records)
	return g, err
}

// Groups returns all groups with a score from min on. An organization's search is repeated if records have changed, unless
// mayBeOld is true and it is not older than pageTime.
func (d *Duplicates[T, R]) Groups(ctx context.Context, st *store.Store, org uuid.UUID, min float64, mayBeOld bool) ([]duplicate.Group, error) {
	s := d.searchOf(org)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	from := &records[T, R]{Duplicates: d, store: st, org: org}
	var now time.Time
	var counts []uint64
	err := st.View(org, func(tx *store.Tx) error {
		now = tx.Now()
		for _, c := range d.counters {
			counts = append(counts, c.Of(tx))
		}
		return from.readDismissed(tx)
	})
	if err != nil {
		return nil, err
	}
	isFresh := slices.Equal(s.of, counts) || mayBeOld && now.Sub(s.at) < pageTime
	if s.found == nil || !isFresh {
		s.found = nil
		if s.found, err = duplicate.Find(ctx, d.rules, from); err != nil {
			return nil, err
		}
		s.of, s.at, s.groups = counts, now, map[float64][]duplicate.Group{}
	}
	if groups, known := s.groups[min]; known {
		return groups, nil
	}
	groups, err := s.found.Groups(ctx, from, min)
	if err == nil {
		if len(s.groups) == keptSearches {
			clear(s.groups)
		}
		s.groups[min] = groups
	}
	return groups, err
}

// searchOf returns the last search of an organization, and forgets that of the organization which has not searched for the
// longest time.
func (d *Duplicates[T, R]) searchOf(org uuid.UUID) *search[R] {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &search[R]{org: org, turn: make(chan struct{}, 1)}
	if at := slices.IndexFunc(d.searches, func(s *search[R]) bool { return s.org == org }); at >= 0 {
		s = d.searches[at]
		d.searches = slices.Delete(d.searches, at, at+1)
	}
	d.searches = append(d.searches, s)
	if len(d.searches) > keptSearches {
		d.searches = slices.Delete(d.searches, 0, 1)
	}
	return s
}

// records is the duplicate.Source of an organization. It reads in short transactions.
type records[T, R any] struct {
	*Duplicates[T, R]
	store *store.Store
	org   uuid.UUID
	apart map[[2]uuid.UUID]bool // dismissed, the smaller id first
}

// Each calls fn for all records in order of creation.
func (r *records[T, R]) Each(ctx context.Context, fn func(id uuid.UUID, rec *R)) error {
	var last uuid.UUID
	for more := true; more; {
		more = false
		n := 0
		err := r.store.View(r.org, func(tx *store.Tx) error {
			return tx.Records(r.kind.Table.Name(), last, func(id uuid.UUID, _ uint64, public []byte) (bool, error) {
				members := shape.NewMembers(string(public))
				rec := r.read(&members)
				fn(id, &rec)
				last, n = id, n+1
				more = n == recordsPerView
				return !more, context.Cause(ctx)
			})
		})
		if err != nil {
			return err
		}
		turn.Pause(ctx)
	}
	return nil
}

// Read returns records, and nil for one that does not exist.
func (r *records[T, R]) Read(ctx context.Context, ids ...uuid.UUID) (recs []*R, err error) {
	turn.Pause(ctx)
	recs = make([]*R, len(ids))
	err = r.store.View(r.org, func(tx *store.Tx) error {
		reader := tx.Reader(r.kind.Table.Name())
		for i, id := range ids {
			_, public, err := reader.Public(id)
			if err != nil && !store.IsDamagedRecord(err) {
				return err
			}
			if public != nil {
				members := shape.NewMembers(string(public))
				rec := r.read(&members)
				recs[i] = &rec
			}
		}
		return context.Cause(ctx)
	})
	return recs, err
}

// AreDifferent reports whether somebody has dismissed two records as duplicates.
func (r *records[T, R]) AreDifferent(a, b uuid.UUID) bool {
	return len(r.apart) > 0 && r.apart[inOrder(a, b)]
}

// position is the place of a group in the list.
type position struct {
	score float64
	id    uuid.UUID
}

func positionOf(g *duplicate.Group) position { return position{g.Score, g.IDs[0]} }

// compare is below zero if the other position is before p in the list.
func (p position) compare(other position) int {
	if p.score != other.score {
		if other.score > p.score {
			return -1
		}
		return 1
	}
	return bytes.Compare(other.id[:], p.id[:])
}

func (p position) cursor() shape.Text {
	raw := binary.BigEndian.AppendUint64(nil, math.Float64bits(p.score))
	return shape.Text(base64.RawURLEncoding.EncodeToString(append(raw, p.id[:]...)))
}

// parseCursor returns the position that a cursor names, or nil for the beginning.
func parseCursor(text string) (*position, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != 24 {
		var p fault.Problems
		p.Invalid("next", "%s is not the cursor of a page", shape.Quote(text))
		return nil, p.Err()
	}
	return &position{math.Float64frombits(binary.BigEndian.Uint64(raw)), uuid.UUID(raw[8:])}, nil
}
