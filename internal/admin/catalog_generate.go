package admin

import (
	"context"
	"fmt"

	"prospector/internal/catalog"
	"prospector/internal/service"
)

// GenerateResult is the size of the catalog after generating.
type GenerateResult struct {
	catalog.Stats
	Failed string `json:"failed,omitempty"` // why generating stopped early
}

var GenerateCatalog = Operation[catalog.Generation, GenerateResult]{
	name: "catalog-generate", createsStore: true,
	doLong: func(ctx context.Context, s *service.Service, in catalog.Generation, report Progress) (g GenerateResult, err error) {
		written := 0
		err = s.Catalog.Generate(ctx, s.Store, in, func(done, total int) {
			written = done
			report(done, total)
		})
		if err != nil && written > 0 {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			g.Failed = fmt.Sprintf("%s; %d companies and people were generated and are kept", Message(err), written)
			ctx = context.WithoutCancel(ctx)
		} else if err != nil {
			return g, err
		}
		g.Stats, err = s.Catalog.Stats(ctx, s.Store, func(int, int) {})
		return g, err
	},
}

var CatalogStats = Operation[struct{}, catalog.Stats]{
	name: "catalog-stats",
	doLong: func(ctx context.Context, s *service.Service, _ struct{}, report Progress) (catalog.Stats, error) {
		return s.Catalog.Stats(ctx, s.Store, report)
	},
}
