package admin

import (
	"errors"
	"path/filepath"

	"prospector/internal/service"
	"prospector/store"
)

// Compact rewrites the store file without the deleted data that its free pages still have. It reports false while a
// server has the store open.
func Compact(cfg service.Config) (done bool, err error) {
	err = store.CompactInPlace(cfg.DataDir, filepath.Join(cfg.DataDir, "compact.tmp"))
	if errors.Is(err, store.ErrLocked) {
		return false, nil
	}
	return err == nil, err
}
