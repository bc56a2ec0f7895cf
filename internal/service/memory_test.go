package service

import (
	"testing"
	"testing/fstest"
)

func TestCgroupMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no cgroup", nil, 0},
		{"version 2", map[string]string{
			"proc/self/cgroup": "0::/app.slice/x.service\n", "sys/fs/cgroup/app.slice/x.service/memory.max": "100663296\n",
		}, 100663296},
		{"version 2 without a limit", map[string]string{
			"proc/self/cgroup": "0::/x\n", "sys/fs/cgroup/x/memory.max": "max\n",
		}, 0},
		{"the limit of a group above", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/a/b/memory.max": "2000\n",
		}, 1000},
		{"a container", map[string]string{
			"proc/self/cgroup": "0::/../../host/path\n", "sys/fs/cgroup/memory.max": "4096\n",
		}, 4096},
		{"version 1", map[string]string{
			"proc/self/cgroup": "5:cpu:/y\n4:memory:/x\n0::/z\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes":     "5000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":       "9223372036854771712\n",
			"sys/fs/cgroup/cpu/y/memory.limit_in_bytes":        "1\n",
			"sys/fs/cgroup/memory/other/memory.limit_in_bytes": "1\n",
		}, 5000},
		{"version 1 without a limit", map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, content := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(content)}
			}
			if got := cgroupMemory(root); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
