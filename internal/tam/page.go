package tam

import (
	"errors"
	"strconv"

	"github.com/google/uuid"

	"prospector/store"
)

// MemberPage is one page of the members of a Preview, as JSON: a list of members. Total is -1 while they are not there.
type MemberPage struct {
	Members []byte
	Page    int
	Size    int
	Total   int
}

// Members gives a page of the members that a filter matches. It costs the page, however many members there are.
func (t *TAM) Members(tx *store.Tx, doc *store.Doc[Preview], f MemberFilter, page, size int) (MemberPage, error) {
	out := MemberPage{Page: page, Size: size, Total: -1}
	if doc.Record.Status != Ready {
		out.Members = []byte("[]")
		return out, nil
	}
	s := t.setsOf(tx, doc)
	first := start(page, size, s.members)
	var ordinals []uint32
	if out.Total = s.members; f.isEmpty() {
		for n := first; n < min(first+size, s.members); n++ {
			ordinals = append(ordinals, uint32(n))
		}
	} else {
		ordinals, out.Total = s.find(f, first, size)
	}
	b := append(make([]byte, 0, 1024*len(ordinals)+2), '[')
	err := t.members.Each(tx, doc.ID, ordinals, func(n uint32, stored []byte) error {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendMember(b, stored, s.has(removedRows, int(n)))
		return nil
	})
	out.Members = append(b, ']')
	return out, errors.Join(err, s.err)
}

// start is how many members come before a page; all of them when it lies behind the last.
func start(page, size, members int) int {
	// Compared before it is multiplied: a page number may be as large as a number can be.
	if page-1 > members/size {
		return members
	}
	return (page - 1) * size
}

// PaginationMeta says which part of the members a page is.
type PaginationMeta struct {
	CurrentPage int  `json:"current_page"`
	PageSize    int  `json:"page_size"`
	TotalPages  int  `json:"total_pages"`
	TotalCount  *int `json:"total_count" doc:"Null before READY."`
}

// appendMeta appends where the page is among all.
func (p *MemberPage) appendMeta(b []byte) []byte {
	pages := 0
	if p.Total > 0 {
		pages = (p.Total + p.Size - 1) / p.Size
	}
	b = strconv.AppendInt(append(b, `{"current_page":`...), int64(p.Page), 10)
	b = strconv.AppendInt(append(b, `,"page_size":`...), int64(p.Size), 10)
	b = strconv.AppendInt(append(b, `,"total_pages":`...), int64(pages), 10)
	b = append(b, `,"total_count":`...)
	if p.Total < 0 {
		return append(b, "null}"...)
	}
	return append(strconv.AppendInt(b, int64(p.Total), 10), '}')
}

// PreviewAnswer is a Preview with a page of its members.
type PreviewAnswer struct {
	Preview
	Members        []Member       `json:"members"`
	PaginationMeta PaginationMeta `json:"pagination_meta"`
	Exclusion      *Exclusion     `json:"exclusion,omitempty" rule:"optional" doc:"On the answer to an exclusion alone."`
}

// WithMembers is a Preview as it is answered: with a page of its members and, when it is given, the JSON of what an exclusion did.
func (p *MemberPage) WithMembers(doc *store.Doc[Preview], exclusion []byte) []byte {
	b := make([]byte, 0, len(doc.JSON)+len(p.Members)+len(exclusion)+256)
	b = append(b, doc.JSON[:len(doc.JSON)-1]...) // without the brace
	b = append(append(b, `,"members":`...), p.Members...)
	b = p.appendMeta(append(b, `,"pagination_meta":`...))
	if exclusion != nil {
		b = append(append(b, `,"exclusion":`...), exclusion...)
	}
	return append(b, '}')
}

// PreviewMembers is what the listing of members answers.
type PreviewMembers struct {
	PreviewID      uuid.UUID      `json:"preview_id" rule:"required"`
	Members        []Member       `json:"members"`
	PaginationMeta PaginationMeta `json:"pagination_meta"`
}

// Alone is a page of members as their listing answers it.
func (p *MemberPage) Alone(preview uuid.UUID) []byte {
	b := append(make([]byte, 0, len(p.Members)+256), `{"preview_id":"`...)
	b = append(b, preview.String()...)
	b = append(append(b, `","members":`...), p.Members...)
	return append(p.appendMeta(append(b, `,"pagination_meta":`...)), '}')
}
