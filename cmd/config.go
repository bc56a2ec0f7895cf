package cmd

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"
)

// Config is the settings of the service, checked.
type Config struct {
	Addr        string `mapstructure:"addr"`
	MetricsAddr string `mapstructure:"metrics_addr"`
	DataDir     string `mapstructure:"data_dir"`
	Log         struct {
		Level  string `mapstructure:"level"`
		Format string `mapstructure:"format"`
	} `mapstructure:"log"`
	RateLimit struct {
		PerMinute int `mapstructure:"per_minute"`
	} `mapstructure:"rate_limit"`
	Limits struct {
		BodyBytes int64 `mapstructure:"body_bytes"`
	} `mapstructure:"limits"`
	Index struct {
		CacheBytes int `mapstructure:"cache_bytes"`
	} `mapstructure:"index"`
}

// defaults is every setting there is. config.example.yaml explains them.
var defaults = map[string]any{
	"addr":                  "127.0.0.1:8080",
	"metrics_addr":          "",
	"data_dir":              "./data",
	"log.level":             "info",
	"log.format":            "text",
	"rate_limit.per_minute": 100,
	"limits.body_bytes":     8 << 20,
	"index.cache_bytes":     256 << 20,
}

// flagSettings are the settings that some commands also have as flags.
var flagSettings = map[string]string{"addr": "addr", "data_dir": "data-dir"}

// loadConfig reads the settings: flags win over the environment, that over the file, that over the defaults. override
// replaces defaults for one command.
func loadConfig(c *cobra.Command, override map[string]any) (Config, error) {
	var cfg Config
	v := viper.New()
	for key, value := range defaults {
		if other, ok := override[key]; ok {
			value = other
		}
		v.SetDefault(key, value)
	}
	v.SetEnvPrefix("PROSPECTOR")
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	v.AutomaticEnv()
	if file, _ := c.Flags().GetString("config"); file != "" {
		if err := readFile(v, file); err != nil {
			return cfg, err
		}
	}
	for key, flag := range flagSettings {
		if f := c.Flags().Lookup(flag); f != nil && f.Changed {
			v.Set(key, f.Value.String())
		}
	}
	if err := v.UnmarshalExact(&cfg, viper.DecodeHook(wholeNumbers)); err != nil {
		_, what, _ := strings.Cut(err.Error(), "error(s):")
		return cfg, fmt.Errorf("settings: %s", strings.TrimSpace(what))
	}
	if err := cfg.check(); err != nil {
		return cfg, fmt.Errorf("settings: %w", err)
	}
	dir, err := filepath.Abs(cfg.DataDir)
	cfg.DataDir = dir
	return cfg, err
}

func readFile(v *viper.Viper, file string) error {
	v.SetConfigFile(file)
	if filepath.Ext(file) == "" {
		v.SetConfigType("yaml")
	}
	if err := v.ReadInConfig(); err != nil {
		return fmt.Errorf("settings file %s: %w", file, err)
	}
	for _, key := range slices.Sorted(slices.Values(v.AllKeys())) {
		if _, known := defaults[key]; !known {
			return fmt.Errorf("settings file %s: unknown setting %q", file, key)
		}
	}
	return nil
}

// wholeNumbers refuses what the decoder would make a whole number of in silence. The environment gives every setting as
// text.
func wholeNumbers(_, to reflect.Type, v any) (any, error) {
	if to.Kind() != reflect.Int && to.Kind() != reflect.Int64 {
		return v, nil
	}
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("must be a whole number, not %v", v)
	}
	return n, nil
}

func (c *Config) check() error {
	switch {
	case c.Addr == "":
		return fmt.Errorf("addr must not be empty")
	case c.DataDir == "":
		return fmt.Errorf("data_dir must not be empty")
	case c.Log.Format != "text" && c.Log.Format != "json":
		return fmt.Errorf("log.format must be text or json, not %q", c.Log.Format)
	case c.RateLimit.PerMinute < 0:
		return fmt.Errorf("rate_limit.per_minute must be 0 or more")
	case c.Limits.BodyBytes < 1:
		return fmt.Errorf("limits.body_bytes must be 1 or more")
	case c.Index.CacheBytes < 0:
		return fmt.Errorf("index.cache_bytes must be 0 or more")
	}
	_, err := c.logLevel()
	return err
}

func (c *Config) logLevel() (level slog.Level, err error) {
	if err = level.UnmarshalText([]byte(c.Log.Level)); err != nil {
		err = fmt.Errorf("log.level must be debug, info, warn or error, not %q", c.Log.Level)
	}
	return level, err
}

// logger writes to stderr, as the settings say.
func (c *Config) logger() *slog.Logger {
	level, _ := c.logLevel() // checked when it was loaded
	options := &slog.HandlerOptions{Level: level}
	if c.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}
