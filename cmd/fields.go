package cmd

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// givenFields returns the flags that were set, as fields of a request body.
func givenFields(c *cobra.Command, flags ...string) (map[string]any, error) {
	fields := map[string]any{}
	for _, flag := range flags {
		v, _ := c.Flags().GetString(flag)
		if !utf8.ValidString(v) {
			return nil, usage("--%s is not valid UTF-8", flag)
		}
		if c.Flags().Changed(flag) {
			fields[strings.ReplaceAll(flag, "-", "_")] = v
		}
	}
	return fields, nil
}
