package admin

import (
	"context"

	"prospector/internal/service"
)

// Reindex rebuilds all indexes.
var Reindex = Operation[struct{}, RecordCount]{
	name: "reindex",
	doLong: func(ctx context.Context, s *service.Service, _ struct{}, report Progress) (RecordCount, error) {
		n, err := s.Index.Reindex(ctx, report)
		return RecordCount{n}, err
	},
}
