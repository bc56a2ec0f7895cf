package admin

import (
	"context"

	"prospector/internal/service"
)

// ReindexResult is the output of reindex.
type ReindexResult struct {
	Records int `json:"records"`
}

var Reindex = Operation[struct{}, ReindexResult]{
	name: "reindex",
	doLong: func(ctx context.Context, s *service.Service, _ struct{}, report Progress) (ReindexResult, error) {
		n, err := s.Index.Reindex(ctx, report)
		return ReindexResult{n}, err
	},
}
