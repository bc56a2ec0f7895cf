package tam

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/store"
)

// PreviewAnswer is a Preview with a page of its members.
type PreviewAnswer struct {
	Preview
	Members        []Member       `json:"members"`
	PaginationMeta PaginationMeta `json:"pagination_meta"`
	Exclusion      *Exclusion     `json:"exclusion,omitempty" rule:"optional" doc:"Present only in the response to an exclusion."`
}

// PreviewMembers is a page of the members of a Preview.
type PreviewMembers struct {
	PreviewID      uuid.UUID      `json:"preview_id" rule:"required"`
	Members        []Member       `json:"members"`
	PaginationMeta PaginationMeta `json:"pagination_meta"`
}

// PaginationMeta describes the position of a page among all members.
type PaginationMeta struct {
	CurrentPage int  `json:"current_page"`
	PageSize    int  `json:"page_size"`
	TotalPages  int  `json:"total_pages"`
	TotalCount  *int `json:"total_count" doc:"Null before READY."`
}

// PageQuery selects a page of members.
type PageQuery struct {
	Page, Size int
	Filter     MemberFilter
}

// Answer is the JSON of a PreviewAnswer or PreviewMembers.
type Answer struct {
	JSON    []byte
	Version string
}

// Read returns a Preview with a page of its members and the given result of an exclusion, if any.
func (t *TAM) Read(tx *store.Tx, id uuid.UUID, at PageQuery, done *Exclusion) (Answer, error) {
	p, err := t.readStored(tx, id)
	if err != nil {
		return Answer{}, err
	}
	b := make([]byte, 0, len(p.public)+p.sizeHint(at))
	b = append(b, p.public[:len(p.public)-1]...) // without the closing brace
	if b, err = t.appendPage(append(b, ','), tx, p, at); err != nil {
		return Answer{}, err
	}
	if done != nil {
		exclusion, err := json.Marshal(done)
		if err != nil {
			return Answer{}, err
		}
		b = append(append(b, `,"exclusion":`...), exclusion...)
	}
	return Answer{append(b, '}'), p.version}, nil
}

// ReadMembers returns a page of the members of a Preview. It reads the members of that page only.
func (t *TAM) ReadMembers(tx *store.Tx, id uuid.UUID, at PageQuery) (Answer, error) {
	p, err := t.readStored(tx, id)
	if err != nil {
		return Answer{}, err
	}
	b := append(make([]byte, 0, p.sizeHint(at)), `{"preview_id":"`...)
	b = append(append(b, id.String()...), `",`...)
	b, err = t.appendPage(b, tx, p, at)
	return Answer{append(b, '}'), p.version}, err
}

// storedPreview is a Preview whose public part is not decoded.
type storedPreview struct {
	id      uuid.UUID
	version string
	private previewPrivate
	public  []byte
}

func (t *TAM) readStored(tx *store.Tx, id uuid.UUID) (*storedPreview, error) {
	doc, private, err := t.Previews.GetUndecoded(tx, id)
	if err != nil {
		return nil, err
	}
	p := &storedPreview{id: id, version: doc.Version(), public: doc.JSON}
	return p, json.Unmarshal(private, &p.private)
}

// sizeHint returns the approximate number of bytes of a page.
func (p *storedPreview) sizeHint(at PageQuery) int { return 512 + 1024*min(at.Size, p.private.Members) }

// appendPage appends the members and the pagination_meta of a page.
func (t *TAM) appendPage(b []byte, tx *store.Tx, p *storedPreview, at PageQuery) ([]byte, error) {
	b = append(b, `"members":[`...)
	total := -1
	if p.private.Ready {
		s := t.memberSetsOf(tx, p.id, p.private.Members)
		ordinals, n, err := t.page(tx, s, at)
		if err != nil {
			return nil, err
		}
		total = n
		comma := false
		err = t.members.Each(tx, p.id, ordinals, func(n uint32, stored []byte) error {
			if comma {
				b = append(b, ',')
			}
			comma = true
			b = appendMember(b, stored, s.has(removedMembers, int(n)))
			return nil
		})
		if err = errors.Join(err, s.err); err != nil {
			return nil, err
		}
	}
	b = strconv.AppendInt(append(b, `],"pagination_meta":{"current_page":`...), int64(at.Page), 10)
	b = strconv.AppendInt(append(b, `,"page_size":`...), int64(at.Size), 10)
	b = strconv.AppendInt(append(b, `,"total_pages":`...), int64((max(total, 0)+at.Size-1)/at.Size), 10)
	b = append(b, `,"total_count":`...)
	if total < 0 {
		return append(b, "null}"...), nil
	}
	return append(strconv.AppendInt(b, int64(total), 10), '}'), nil
}

// page returns the ordinals of the members on a page, and the number of members on all pages.
func (t *TAM) page(tx *store.Tx, s *memberSets, at PageQuery) (ordinals []uint32, total int, err error) {
	if at.Filter.Reason == "" {
		ordinals, total = s.page(at)
		return ordinals, total, nil
	}
	// No set has the reasons, so that the excluded members are read.
	candidates, _ := s.find(at.Filter, 0, s.members)
	err = t.members.Each(tx, s.preview, candidates, func(n uint32, stored []byte) error {
		if reasonOf(stored, s.has(removedMembers, int(n))) == at.Filter.Reason {
			if total/at.Size == at.Page-1 {
				ordinals = append(ordinals, n)
			}
			total++
		}
		return nil
	})
	return ordinals, total, err
}

// page is TAM.page for a filter without a reason.
func (s *memberSets) page(at PageQuery) (ordinals []uint32, total int) {
	first := s.members // after the last member
	// The comparison comes before the multiplication, which could overflow.
	if at.Page-1 <= s.members/at.Size {
		first = (at.Page - 1) * at.Size
	}
	if !at.Filter.isEmpty() {
		return s.find(at.Filter, first, at.Size)
	}
	for n := first; n < min(first+at.Size, s.members); n++ {
		ordinals = append(ordinals, uint32(n))
	}
	return ordinals, s.members
}
