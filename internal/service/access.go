package service

import (
	"log/slog"
	"os"
)

// othersRead are the permissions with which other users read a file or list a directory.
const othersRead = 0o044

// warnOfAccess warns about a data directory or a key file that other users can read.
func (c *Config) warnOfAccess(log *slog.Logger) {
	for what, path := range map[string]string{"data directory": c.DataDir, "key file": c.TLS.KeyFile} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&othersRead != 0 {
			log.Warn("other users can read private data; remove their permission with chmod",
				"what", what, "path", path, "mode", info.Mode().Perm().String())
		}
	}
}
