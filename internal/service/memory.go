package service

import (
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory makes Go keep its memory below 80 % of the cgroup's limit, so that the garbage collector
// works harder before the kernel ends the process. GOMEMLIMIT in the environment overrides it.
func limitMemory(log *slog.Logger) {
	limit := cgroupMemory(os.DirFS("/"))
	if limit == 0 || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(limit / 10 * 8)
	log.Info("memory limit set to 80 % of the cgroup's", "cgroup_bytes", limit, "limit_bytes", limit/10*8)
}

// cgroupMemory returns the memory limit of the cgroup of this process and those above it, or 0 if there
// is none.
func cgroupMemory(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	limit := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max" // version 2
		if parts[1] == "memory" {
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		// Inside a container the path may be that of the host, whose files are not visible.
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			if text, err := fs.ReadFile(root, path.Join(mount, group, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
					limit = min(limit, n)
				}
			}
			if group == "/" {
				break
			}
		}
	}
	const unlimited = 1 << 50 // version 1 has a huge number for no limit
	if limit >= unlimited {
		return 0
	}
	return limit
}
