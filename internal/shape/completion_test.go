package shape_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"prospector/internal/shape"
)

type window struct {
	From int `json:"from"`
	To   int `json:"to" rule:"default=24"`
}

type stop struct {
	Place string `json:"place"`
	Kind  string `json:"kind" rule:"default=visit"`
}

type trip struct {
	Name   string          `json:"name"`
	Status string          `json:"status" rule:"default=open"`
	Note   shape.Text      `json:"note"`
	Hours  window          `json:"hours"`
	Stops  []stop          `json:"stops"`
	ByDay  map[string]stop `json:"by_day"`
	Last   *stop           `json:"last"`
	Extra  string          `json:"extra,omitzero" rule:"optional,default=none"`
	Custom shape.Custom    `json:",embed"`
}

func TestSetDefaults(t *testing.T) {
	for name, c := range map[string]struct{ stored, want string }{
		"nothing stored": {`{}`,
			`{"name":"","status":"open","note":null,"hours":{"from":0,"to":24},"stops":[],"by_day":{},"last":null}`},
		"complete": {`{"name":"a","status":"done","note":"n","hours":{"from":1,"to":2},"stops":[],"by_day":{},"last":null}`,
			`{"name":"a","status":"done","note":"n","hours":{"from":1,"to":2},"stops":[],"by_day":{},"last":null}`},
		"in an object": {`{"name":"a","status":"done","hours":{"from":1}}`,
			`{"name":"a","status":"done","note":null,"hours":{"from":1,"to":24},"stops":[],"by_day":{},"last":null}`},
		"in a list, a map and a pointer": {`{"status":"x","hours":{"to":3},"stops":[{"place":"p"},{"kind":"call"}],"by_day":{"mon":{}},"last":{}}`,
			`{"name":"","status":"x","note":null,"hours":{"from":0,"to":3},"stops":[{"place":"p","kind":"visit"},{"place":"","kind":"call"}],` +
				`"by_day":{"mon":{"place":"","kind":"visit"}},"last":{"place":"","kind":"visit"}}`},
		"custom fields stay": {`{"name":"a","custom_field_x":"y"}`,
			`{"name":"a","status":"open","note":null,"hours":{"from":0,"to":24},"stops":[],"by_day":{},"last":null,"custom_field_x":"y"}`},
	} {
		t.Run(name, func(t *testing.T) {
			filled, err := shape.Of[trip]().SetDefaults([]byte(c.stored))
			if err != nil {
				t.Fatal(err)
			}
			var rec trip
			if err := json.Unmarshal(filled, &rec); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(&rec, json.Deterministic(true))
			if err != nil || string(got) != c.want {
				t.Errorf("%s is completed to\n%s, want\n%s (%v)", c.stored, got, c.want, err)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	type base struct {
		Name string `json:"name"`
		Note shape.Text
		At   window `json:"at"`
	}
	type relabeled struct {
		Name string `json:"name" label:"Full name" doc:"A name." rule:"required"`
		Note shape.Text
		At   window `json:"at"`
	}
	if shape.Of[base]().Fingerprint() != shape.Of[relabeled]().Fingerprint() {
		t.Error("labels and rules that do not change the JSON change the fingerprint")
	}
	type shortWindow struct {
		From int `json:"from"`
	}
	type added struct {
		Name string `json:"name"`
		More string `json:"more"`
		At   window `json:"at"`
	}
	type defaulted struct {
		Name string `json:"name" rule:"default=x"`
		At   window `json:"at"`
	}
	type moved struct {
		At   window `json:"at"`
		Name string `json:"name"`
	}
	type retyped struct {
		Name shape.Text `json:"name"`
		At   window     `json:"at"`
	}
	type nested struct {
		Name string      `json:"name"`
		At   shortWindow `json:"at"`
	}
	type listed struct {
		Name string   `json:"name"`
		At   []window `json:"at"`
	}
	seen := map[string]string{}
	for name, s := range map[string]*shape.Struct{
		"base": shape.Of[base](), "added": shape.Of[added](), "defaulted": shape.Of[defaulted](), "moved": shape.Of[moved](),
		"retyped": shape.Of[retyped](), "nested": shape.Of[nested](), "listed": shape.Of[listed](),
	} {
		fingerprint := s.Fingerprint()
		if other, taken := seen[fingerprint]; taken {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		seen[fingerprint] = name
	}
}
