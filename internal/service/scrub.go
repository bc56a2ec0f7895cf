package service

import (
	"context"
	"time"
)

const (
	// firstScrub is how long after the start the store is read for the first time.
	firstScrub = 10 * time.Minute
	// scrubInterval is the time between two scrubs.
	scrubInterval = 24 * time.Hour
	// scrubPace is the pause before each chunk of a scrub. It reads 20,000 entries a second at most.
	scrubPace = 50 * time.Millisecond
)

// watchStore compares the counts of tables with their records now and, unless store.scrub is off, reads
// the whole store once a day until ctx ends.
func (s *Service) watchStore(ctx context.Context) {
	check := func() error {
		_, err := s.Store.CheckCounts(ctx)
		return err
	}
	s.reportScrub(ctx, check())
	if !s.Config.Store.Scrub {
		return
	}
	next := time.NewTimer(firstScrub)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		pace := time.NewTicker(scrubPace)
		err := s.Store.Scrub(ctx, pace.C)
		pace.Stop()
		s.reportScrub(ctx, err)
		s.reportScrub(ctx, check())
		next.Reset(scrubInterval)
	}
}

func (s *Service) reportScrub(ctx context.Context, err error) {
	select {
	case <-ctx.Done():
	default:
		if err != nil {
			s.Log.Error("store could not be checked", "error", err)
		}
	}
}
