package service

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/viper"
)

const example = "../../config.example.yaml"

// TestExampleConfig checks that config.example.yaml has every setting with its default, and nothing
// else.
func TestExampleConfig(t *testing.T) {
	withoutVariables(t)
	usual := Defaults()
	v := viper.New()
	if unknown, err := readFile(v, example, usual.fields()); err != nil || unknown != nil {
		t.Fatal(unknown, err)
	}
	got := Defaults()
	for key, field := range got.fields() {
		if !v.InConfig(key) {
			t.Errorf("%s is not in %s", key, example)
			continue
		}
		reflect.ValueOf(field).Elem().SetZero()
		if err := assign(field, v.Get(key)); err != nil {
			t.Errorf("%s %v", key, err)
		}
		if want := usual.fields()[key]; !reflect.DeepEqual(field, want) {
			t.Errorf("%s is %v, the default is %v", key, reflect.ValueOf(field).Elem(), reflect.ValueOf(want).Elem())
		}
	}

	if _, err := Load(Sources{Defaults: Defaults(), File: example}); err != nil {
		t.Errorf("starting a server with the example: %v", err)
	}
}

// TestExampleConfigExplains checks that each setting in config.example.yaml has a comment directly
// above it.
func TestExampleConfigExplains(t *testing.T) {
	source, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^( *)([a-z_]+):(.*)$`)
	var cfg Config
	fields := cfg.fields()
	var path, comment []string
	seen := 0
	for text := range strings.Lines(string(source)) {
		text = strings.TrimSuffix(text, "\n")
		if said, is := strings.CutPrefix(strings.TrimSpace(text), "#"); is {
			comment = append(comment, said)
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			if text != "" {
				t.Errorf("unexpected line: %s", text)
			}
			comment = nil
			continue
		}
		path = append(path[:len(m[1])/2], m[2])
		key := strings.Join(path, ".")
		said := strings.Join(comment, " ")
		comment = nil
		if _, is := fields[key]; !is {
			continue // a group
		}
		seen++
		if len(said) < 20 {
			t.Errorf("%s has no comment", key)
		}
	}
	if seen != len(fields) {
		t.Errorf("found %d settings, want %d", seen, len(fields))
	}
}
