package service

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/viper"
)

// variablePrefix starts the name of the environment variable of every setting.
const variablePrefix = "PROSPECTOR_"

// Sources are where Load reads settings from. Flags override environment variables, which override
// the file, which overrides the defaults.
type Sources struct {
	Defaults Config
	File     string          // path of the settings file, or empty
	Flags    map[string]Flag // by setting, those given on the command line
}

// Flag is a setting given on the command line.
type Flag struct{ Name, Value string }

// SettingsError reports every invalid setting.
type SettingsError struct {
	problems []string
	// Usage reports whether at least one of the invalid settings was given as a flag.
	Usage bool
}

func (e *SettingsError) Error() string { return "settings: " + strings.Join(e.problems, "; ") }

// Load reads and checks the settings. Invalid settings are reported together as a *SettingsError.
func Load(from Sources) (cfg Config, err error) {
	cfg = from.Defaults
	fields := cfg.fields()
	v := viper.New()
	// AutomaticEnv is not used, because a variable with the name of a group would hide the group in the file.
	for key := range fields {
		if err := v.BindEnv(key, variable(key)); err != nil {
			return cfg, err
		}
	}
	var found []invalid
	if from.File != "" {
		if found, err = readFile(v, from.File, fields); err != nil {
			return cfg, fmt.Errorf("settings file %s: %w", from.File, err)
		}
	}
	for key, flag := range from.Flags {
		v.Set(key, flag.Value)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		value := v.Get(key)
		if value == nil {
			continue
		}
		if err := assign(fields[key], value); err != nil {
			found = append(found, invalid{key, err.Error()})
		}
	}
	if err := settingsError(from.Flags, append(found, cfg.check()...)); err != nil {
		return cfg, err
	}
	cfg.DataDir, err = filepath.Abs(cfg.DataDir)
	return cfg, err
}

// settingsError returns invalid settings as one error, or nil if there are none.
func settingsError(flags map[string]Flag, found []invalid) error {
	if len(found) == 0 {
		return nil
	}
	result := &SettingsError{problems: make([]string, len(found))}
	for i, p := range found {
		result.problems[i] = strings.TrimSpace(p.key + " " + p.problem)
		if flag, given := flags[p.key]; given {
			result.problems[i] = "--" + flag.Name + " " + p.problem
			result.Usage = true
		}
	}
	return result
}

// variable returns the environment variable of a setting.
func variable(key string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// readFile reads a settings file and returns the keys that are not settings.
func readFile(v *viper.Viper, file string, fields map[string]any) (found []invalid, err error) {
	v.SetConfigFile(file)
	if filepath.Ext(file) == "" {
		v.SetConfigType("yaml")
	}
	if err := v.ReadInConfig(); err != nil {
		if parse := (viper.ConfigParseError{}); errors.As(err, &parse) {
			err = errors.New(strings.Join(strings.Fields(quoted.ReplaceAllString(parse.Error(), "…")), " "))
		}
		return nil, err
	}
	for _, key := range slices.Sorted(slices.Values(v.AllKeys())) {
		if what := unknown(key, v.Get(key), fields); what != "" {
			found = append(found, invalid{"", file + ": " + what})
		}
	}
	return found, nil
}

// quoted is what the error of a parser quotes from a file. It may be a secret, and the line number is
// enough to find it.
var quoted = regexp.MustCompile("(?s)`.*`|'.*'|\".*\"|{.*}")

// unknown returns the problem of a key that is not a setting, or "". A group may be empty.
func unknown(key string, value any, fields map[string]any) string {
	if _, ok := fields[key]; ok {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if strings.HasPrefix(name, key+".") {
			if value == nil {
				return ""
			}
			return key + " is a group of settings, such as " + name + ", and cannot have a value"
		}
	}
	return fmt.Sprintf("unknown setting %q", key)
}

// assign sets a setting to a value: a string from the environment or a flag, or any type from a file.
// Its errors continue the key of the setting. They do not show the value of a string, which may be a
// secret.
func assign(setting, value any) error {
	switch p := setting.(type) {
	case *string:
		return assignText(p, value)
	case *Secret:
		return assignText(p, value)
	case *bool:
		return assignParsed(p, value, strconv.ParseBool, "true or false")
	case *int:
		return assignParsed(p, value, strconv.Atoi, "an integer")
	case *int64:
		return assignParsed(p, value, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }, "an integer")
	case *float64:
		return assignParsed(p, value, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }, "a number")
	case *time.Duration:
		return assignParsed(p, value, time.ParseDuration, "a duration with a unit, such as 30s, 5m or 720h")
	case *[]time.Duration:
		return assignList(p, value, "durations with units, as a list or separated by commas, such as 5s,5m,2h",
			func(d *time.Duration, item any, want string) error {
				return assignParsed(d, item, time.ParseDuration, want)
			})
	case *[]string:
		return assignList(p, value, "strings, as a list or separated by commas",
			func(s *string, item any, _ string) error { return assignText(s, item) })
	default:
		return fmt.Errorf("has the unsupported type %T", setting)
	}
}

// assignText accepts only strings. YAML reads an unquoted 0123 as the number 83.
func assignText[T ~string](setting *T, value any) error {
	text, is := value.(string)
	if !is {
		return errors.New("must be a string in quotes")
	}
	*setting = T(text)
	return nil
}

// assignParsed accepts a value of the right type, or a string that parses as one.
func assignParsed[T any](setting *T, value any, parse func(string) (T, error), want string) error {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case bool, int, int64, uint64:
		text = fmt.Sprint(value)
	case float64: // every number in JSON
		text = strconv.FormatFloat(value, 'f', -1, 64)
	default:
		return errors.New("must be " + want)
	}
	v, err := parse(text)
	if err != nil {
		return fmt.Errorf("must be %s, not %q", want, text)
	}
	*setting = v
	return nil
}

// assignList accepts a list or a comma-separated string.
func assignList[T any](setting *[]T, value any, want string, assignItem func(*T, any, string) error) error {
	var items []any
	switch value := value.(type) {
	case []any:
		items = value
	case string:
		for item := range strings.SplitSeq(value, ",") {
			items = append(items, strings.TrimSpace(item))
		}
	default:
		return errors.New("must be " + want)
	}
	list := make([]T, len(items))
	for i, item := range items {
		if err := assignItem(&list[i], item, want); err != nil {
			return err
		}
	}
	*setting = list
	return nil
}

// warn logs settings that have no effect or are incomplete.
func (c *Config) warn(log *slog.Logger, environ []string) {
	if key := c.missingForResearch(); key != "" {
		log.Warn("research is disabled: research.provider is openai, but a setting that it requires is empty", "setting", key)
	}
	if names := unknownVariables(environ); len(names) > 0 {
		log.Warn("environment variables are ignored because they are not settings", "variables", strings.Join(names, ", "))
	}
}

// unknownVariables returns the environment variables that are named like settings but are not.
func unknownVariables(environ []string) (names []string) {
	var cfg Config
	settings := map[string]bool{}
	for key := range cfg.fields() {
		settings[variable(key)] = true
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, variablePrefix) && !settings[name] && value != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
