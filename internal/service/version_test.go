package service

import (
	"runtime/debug"
	"testing"
)

func TestBuildVersion(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, c := range []struct {
		name, module string
		settings     []debug.BuildSetting
		want         string
	}{
		{"tag", "v1.2.3", []debug.BuildSetting{revision}, "1.2.3"},
		{"pseudo-version", "v0.0.0-20260301120000-0123456789ab+dirty", []debug.BuildSetting{revision, modified}, "0.0.0-20260301120000-0123456789ab+dirty"},
		{"revision", "(devel)", []debug.BuildSetting{revision}, "0123456789ab"},
		{"modified revision", "", []debug.BuildSetting{revision, modified}, "0123456789ab+dirty"},
		{"no repository", "(devel)", nil, "devel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := buildVersion(&debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings})
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			commit := ""
			if len(c.settings) > 0 {
				commit = revision.Value
			}
			if got := buildCommit(&debug.BuildInfo{Settings: c.settings}); got != commit {
				t.Errorf("the commit is %q, want %q", got, commit)
			}
		})
	}
}
