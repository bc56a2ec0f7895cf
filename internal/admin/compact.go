package admin

import (
	"errors"

	"prospector/internal/service"
	"prospector/store"
)

// Compact rewrites the store file without the deleted data that its free pages still have. It reports false while
// another process has the store open.
func Compact(cfg service.Config) (done bool, err error) {
	err = store.CompactInPlace(cfg.DataDir, cfg.CompactDir())
	if errors.Is(err, store.ErrLocked) {
		return false, nil
	}
	return err == nil, err
}
