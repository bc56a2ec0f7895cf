package admin

import (
	"context"
	"fmt"
	"io"
	"strings"

	"prospector/internal/rows"
	"prospector/internal/service"
)

// readTable starts to read a file.
func readTable(file io.Reader, o rows.Options) (*rows.Reader, error) {
	t, err := rows.Open(file, o)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be imported: %w", err)
	}
	return t, nil
}

// stopped returns why an import that has written rows stopped early, because its rows must be reported. An
// import that has written nothing fails.
func stopped(ctx context.Context, s *service.Service, entity string, r *rows.Report, err error) (failed string, _ error) {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil || r.Added+r.Updated == 0 {
		return "", err
	}
	failed = strings.TrimSuffix(Message(err), "; nothing was changed")
	s.Log.Info("import stopped early", "entity", entity, "added", r.Added, "updated", r.Updated, "reason", failed)
	return failed, nil
}
