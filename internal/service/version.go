package service

import (
	"cmp"
	"runtime/debug"
	"strings"

	"prospector/store"
)

// version overrides the version from build information. Set it when linking, with
// -ldflags '-X prospector/internal/service.version=1.2.3'.
var version string

// Version returns the version of the program.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknownVersion
	}
	return buildVersion(info)
}

// Commit returns the revision that the program was built from, or "" if it is not known.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return buildCommit(info)
}

// StoreFormat returns the number of the format that the program writes the store in.
func StoreFormat() int { return store.Format() }

func buildCommit(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// unknownVersion is the version of a binary that was built outside a repository.
const unknownVersion = "devel"

// buildVersion returns the version of the main module or, if it has none, the revision that it was
// built from.
func buildVersion(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	return cmp.Or(revision, unknownVersion) + dirty
}
