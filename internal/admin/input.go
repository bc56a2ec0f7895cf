package admin

import (
	"encoding/json"

	"prospector/internal/shape"
)

// Input is the input of an admin operation whose fields the kind itself checks.
type Input struct {
	Org    string         `json:"org,omitempty"`
	Fields map[string]any `json:"fields"` // as a Input of the API has them
}

func (b Input) value() (shape.Value, error) {
	raw, err := json.Marshal(b.Fields)
	if err != nil {
		return shape.Value{}, err
	}
	return shape.ParseObject(raw)
}
