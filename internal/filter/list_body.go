package filter

import "prospector/internal/shape"

// The page sizes of every list. The rule of PageLimit repeats them, because a tag cannot refer to a
// constant.
const (
	DefaultPageSize = 50
	MaxPageSize     = 500
)

// PageLimit is the page_size parameter. Every paged request embeds it.
type PageLimit struct {
	PageSize int `json:"page_size" rule:"min=1,max=500,default=50" doc:"The number of entries per page."`
}

// ListBody is the body of a list request.
type ListBody struct {
	Filters shape.Value `json:"filters" rule:"component=Filters"`
	Sort    string      `json:"sort" doc:"A field key, prefixed with - for descending order. Separate several keys with commas."`
	Search  string      `json:"search" doc:"Words to search for. Each must be the beginning of a word in the record's text fields, ignoring case."`
	Page    int         `json:"page" rule:"min=1,default=1" doc:"The page number, starting at 1."`
	PageLimit
}
