package admin

import (
	"encoding/json"

	"prospector/internal/shape"
)

// Input is the input of an operation on records. The kind of record checks the fields.
type Input struct {
	Org    string         `json:"org,omitempty"`
	Fields map[string]any `json:"fields"` // as in a request body of the API
}

func (b Input) value() (shape.Value, error) {
	raw, err := json.Marshal(b.Fields)
	if err != nil {
		return shape.Value{}, err
	}
	return shape.ParseObject(raw)
}
