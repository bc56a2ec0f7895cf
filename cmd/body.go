package cmd

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"prospector/internal/shape"
)

// body is the input of an admin operation whose fields the kind itself checks.
type body struct {
	Org    string         `json:"org,omitempty"`
	Fields map[string]any `json:"fields"` // as a body of the API has them
}

func (b body) value() (shape.Value, error) {
	raw, err := json.Marshal(b.Fields)
	if err != nil {
		return shape.Value{}, err
	}
	return shape.ParseObject(raw)
}

// givenFields are the flags that were given, as a body has them.
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
