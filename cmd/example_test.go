package cmd

import (
	"fmt"
	"testing"

	"github.com/spf13/viper"
)

// config.example.yaml explains every setting, with its default, and nothing else.
func TestExampleConfig(t *testing.T) {
	v := viper.New()
	if err := readFile(v, "../config.example.yaml"); err != nil {
		t.Fatal(err)
	}
	for key, value := range defaults {
		if got := v.Get(key); fmt.Sprint(got) != fmt.Sprint(value) {
			t.Errorf("%s is %v in config.example.yaml, the default is %v", key, got, value)
		}
	}
}
