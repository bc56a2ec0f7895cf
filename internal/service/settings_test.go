package service

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// withoutVariables clears the settings in the environment of the test run.
func withoutVariables(t *testing.T) {
	var cfg Config
	for key := range cfg.fields() {
		t.Setenv(variable(key), "")
	}
}

// load reads the settings as a command does, from a file with the content.
func load(t *testing.T, content string) (Config, error) {
	t.Helper()
	return loadFile(t, "settings.yaml", content, nil)
}

func loadFile(t *testing.T, name, content string, flags map[string]Flag) (Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Sources{Defaults: Defaults(), File: file, Flags: flags})
}

// inFile returns a setting in the syntax of the file.
func inFile(key, value string) string {
	var b strings.Builder
	path := strings.Split(key, ".")
	for depth, name := range path {
		fmt.Fprintf(&b, "%s%s:", strings.Repeat("  ", depth), name)
		if depth < len(path)-1 {
			b.WriteByte('\n')
		}
	}
	return b.String() + " " + value + "\n"
}

// TestEverySetting checks that each setting can be set in the file and that the environment
// overrides it.
func TestEverySetting(t *testing.T) {
	withoutVariables(t)
	type sample struct {
		inFile string
		file   any
		inEnv  string
		env    any
	}
	text := func(file, env string) sample { return sample{file, file, env, env} }
	number := func(file, env int) sample { return sample{fmt.Sprint(file), file, fmt.Sprint(env), env} }
	duration := func(file, env time.Duration) sample { return sample{file.String(), file, env.String(), env} }
	samples := map[string]sample{
		"addr":         text("127.0.0.1:1", "127.0.0.1:2"),
		"data_dir":     text("/by/file", "/by/environment"),
		"public_url":   text("http://file.example", "https://environment.example:8443/crm/"),
		"metrics_addr": text("127.0.0.1:9090", ":9091"),

		"trusted_proxies":   {"[127.0.0.1, 10.0.0.0/8]", []string{"127.0.0.1", "10.0.0.0/8"}, "::1, 192.0.2.7", []string{"::1", "192.0.2.7"}},
		"sessions.idle":     duration(time.Hour, time.Minute),
		"sessions.lifetime": duration(48*time.Hour, time.Hour),
		"sessions.invite":   duration(time.Hour, time.Minute),

		"log.level":  text("warn", "error"),
		"log.format": text("json", "text"),

		"rate_limit.per_minute":      number(7, 0),
		"limits.body_bytes":          {"1000", int64(1000), "2000", int64(2000)},
		"limits.import_bytes":        {"1000", int64(1000), "2000", int64(2000)},
		"limits.list_time":           duration(time.Second, 0),
		"limits.shutdown_time":       duration(time.Second, time.Minute),
		"limits.concurrent_requests": number(7, 0),
		"limits.parse_bytes":         {"1000", int64(1000), "0", int64(0)},
		"index.cache_bytes":          number(1000, 0),
		"store.scrub":                {"false", false, "true", true},

		"identity.shared_hosts": {"[Portal.example, shop.*]", []string{"Portal.example", "shop.*"}, "portal.example, b.example", []string{"portal.example", "b.example"}},

		"research.provider":    text("openai", "catalog"),
		"research.base_url":    text("https://file.example/v1", "http://127.0.0.1:11434/v1"),
		"research.model":       text("file", "environment"),
		"research.api_key_env": text("FILE_KEY", "_KEY2"),
		"research.concurrency": number(1, 2),
		"research.timeout":     duration(time.Second, 90*time.Minute),
		"research.unit_rate":   {"0", 0.0, "2.5", 2.5},

		"mail.transport":     text("smtp", "outbox"),
		"mail.smtp.host":     text("file.example", "environment.example"),
		"mail.smtp.port":     number(1, 65535),
		"mail.smtp.username": text("file", "environment"),
		"mail.smtp.password": {"'0123'", Secret("0123"), "12", Secret("12")},
		"mail.smtp.tls":      text("tls", "none"),
		"mail.daily_cap":     number(0, 1),
		"mail.min_gap":       {"0", time.Duration(0), "1m", time.Minute},
		"mail.recipient_gap": {"0", time.Duration(0), "6h", 6 * time.Hour},
		"sequences.speed":    {"86400", 86400.0, "0.5", 0.5},

		"webhooks.allow_private_networks": {"true", true, "false", false},
		"webhooks.timeout":                duration(time.Second, time.Minute),
		"webhooks.retry_schedule":         {"[1s, 2m]", []time.Duration{time.Second, 2 * time.Minute}, "3s, 4h", []time.Duration{3 * time.Second, 4 * time.Hour}},
		"webhooks.retention":              duration(time.Hour, 2*time.Hour),
		"webhooks.max_pending":            number(1, 2),
		"webhooks.concurrency":            number(1, 2),
		"tam.retention":                   duration(time.Hour, 2*time.Hour),
		"trash.retention":                 duration(time.Hour, 2*time.Hour),
		"imports.retention":               duration(time.Hour, 2*time.Hour),
		"tls.cert_file":                   text("file.pem", "environment.pem"),
		"tls.key_file":                    text("file.pem", "environment.pem"),
	}
	// Other settings that a value requires.
	needs := map[string]string{
		"research.provider": "  base_url: https://api.example/v1\n  model: small\n", "mail.transport": "  smtp: {host: mail.example}\n",
		"tls.cert_file": "  key_file: key.pem\n", "tls.key_file": "  cert_file: cert.pem\n",
	}
	usual := Defaults()
	for key, before := range usual.fields() {
		t.Run(key, func(t *testing.T) {
			s, there := samples[key]
			if !there {
				t.Fatal("this test has no values for the setting")
			}
			is := func(want any) {
				t.Helper()
				cfg, err := load(t, inFile(key, s.inFile)+needs[key])
				if err != nil {
					t.Fatal(err)
				}
				if got := reflect.ValueOf(cfg.fields()[key]).Elem().Interface(); !reflect.DeepEqual(got, want) {
					t.Errorf("got %#v, want %#v", got, want)
				}
			}
			if reflect.DeepEqual(reflect.ValueOf(before).Elem().Interface(), s.file) {
				t.Error("the value of the file is the default")
			}
			is(s.file)
			t.Setenv(variable(key), "")
			is(s.file)
			t.Setenv(variable(key), s.inEnv)
			is(s.env)
		})
	}
}

// TestFlagsWin checks that flags override the environment, which overrides the file.
func TestFlagsWin(t *testing.T) {
	withoutVariables(t)
	t.Setenv("PROSPECTOR_SEQUENCES_SPEED", "2")
	t.Setenv("PROSPECTOR_ADDR", "127.0.0.1:2")
	file := "addr: 127.0.0.1:1\nsequences: {speed: 1.5}\n"
	cfg, err := loadFile(t, "settings.yaml", file, map[string]Flag{
		"sequences.speed": {"speed", "86400"}, "addr": {"addr", "127.0.0.1:3"}, "data_dir": {"data-dir", "/by/flag"},
	})
	if err != nil || cfg.Sequences.Speed != 86400 || cfg.Addr != "127.0.0.1:3" || cfg.DataDir != "/by/flag" {
		t.Errorf("%v %v %v %v", err, cfg.Sequences.Speed, cfg.Addr, cfg.DataDir)
	}
	if cfg, err := load(t, file); err != nil || cfg.Sequences.Speed != 2 || cfg.Addr != "127.0.0.1:2" {
		t.Errorf("without flags: %v %v %v", err, cfg.Sequences.Speed, cfg.Addr)
	}
}

// TestFileFormats checks groups in every notation, including empty ones, and formats other than
// YAML.
func TestFileFormats(t *testing.T) {
	withoutVariables(t)
	t.Setenv("PROSPECTOR_TLS", "on") // the variable has the name of a group and must not hide the settings in the file
	cfg, err := load(t, "log:\ntls: {cert_file: a.pem, key_file: b.pem}\nmail.smtp.host: mail.example\nresearch: {}\nwebhooks: {retry_schedule: []}\n")
	if err != nil || cfg.Log.Level != "info" || cfg.TLS.CertFile != "a.pem" || cfg.Mail.SMTP.Host != "mail.example" || len(cfg.Webhooks.RetrySchedule) != 0 {
		t.Errorf("%v %+v", err, cfg)
	}
	for name, content := range map[string]string{
		"settings.json": `{"limits": {"body_bytes": 8388609}, "sequences": {"speed": 1.5}, "webhooks": {"retry_schedule": ["5s"], "allow_private_networks": true}}`,
		"settings.toml": "[limits]\nbody_bytes = 8388609\n[sequences]\nspeed = 1.5\n[webhooks]\nretry_schedule = ['5s']\nallow_private_networks = true\n",
	} {
		cfg, err := loadFile(t, name, content, nil)
		w := cfg.Webhooks
		if err != nil || cfg.Limits.BodyBytes != 8388609 || cfg.Sequences.Speed != 1.5 || len(w.RetrySchedule) != 1 || !w.AllowPrivateNetworks {
			t.Errorf("%s: %v %+v", name, err, cfg)
		}
	}
}

// TestRefusedSettings checks that each error names the setting and what is allowed.
func TestRefusedSettings(t *testing.T) {
	withoutVariables(t)
	for _, c := range []struct{ key, value, says string }{
		{"public_url", "crm.example.com", "http or https URL"},
		{"public_url", "ftp://crm.example.com", "http or https URL"},
		{"public_url", "'https://'", "http or https URL"},
		{"public_url", "https://:8443", "http or https URL"},
		{"public_url", "/crm", "http or https URL"},
		{"public_url", "https://crm.example.com/?a=b", "without user, query or fragment"},
		{"public_url", "https://crm.example.com/?", "without user, query or fragment"},
		{"public_url", "'https://crm.example.com/#a'", "without user, query or fragment"},
		{"public_url", "https://ada:pw@crm.example.com", "without user, query or fragment"},
		{"tls.cert_file", "cert.pem", "if and only if tls.key_file is set"},
		{"metrics_addr", "'9090'", "host:port"},
		{"metrics_addr", "'127.0.0.1:'", "host:port"},
		{"metrics_addr", "127.0.0.1:99999", "host:port"},
		{"metrics_addr", "127.0.0.1:8080", "a different address than addr"},
		{"log.level", "''", "debug, info, warn or error"},
		{"log.format", "xml", "text or json"},
		{"rate_limit.per_minute", "-1", "at least 0"},
		{"rate_limit.per_minute", "99999999999999999999", "an integer"},
		{"limits.body_bytes", "0", "at least 1"},
		{"limits.body_bytes", "8MB", "an integer"},
		{"limits.import_bytes", "0", "at least 1"},
		{"limits.parse_bytes", "-1", "at least 0"},
		{"limits.concurrent_requests", "-1", "at least 0"},
		{"limits.list_time", "-1s", "at least 0"},
		{"limits.shutdown_time", "0s", "more than 0"},
		{"index.cache_bytes", "-1", "at least 0"},
		{"research.provider", "oracle", `catalog or openai, not "oracle"`},
		{"research.base_url", "api.example", "http or https URL"},
		{"research.api_key_env", "sk-secret", "not the key itself"},
		{"research.concurrency", "0", "at least 1"},
		{"research.concurrency", "2.5", "an integer"},
		{"research.timeout", "0s", "more than 0"},
		{"research.timeout", "30", "a duration with a unit"},
		{"research.timeout", "1 day", "a duration with a unit"},
		{"research.timeout", "[30s]", "a duration with a unit"},
		{"research.unit_rate", "-0.5", "between 0 and 1000000"},
		{"research.unit_rate", ".inf", "between 0 and 1000000"},
		{"research.unit_rate", "1000001", "between 0 and 1000000"},
		{"research.unit_rate", ".nan", "between 0 and 1000000"},
		{"research.unit_rate", "cheap", "a number"},
		{"mail.transport", "pigeon", `outbox or smtp, not "pigeon"`},
		{"mail.smtp.port", "0", "between 1 and 65535"},
		{"mail.smtp.port", "65536", "between 1 and 65535"},
		{"mail.smtp.tls", "true", "a string in quotes"},
		{"mail.smtp.tls", "ssl", `starttls, tls or none, not "ssl"`},
		{"mail.daily_cap", "-1", "at least 0"},
		{"mail.min_gap", "-1s", "at least 0"},
		{"mail.min_gap", "5", "a duration with a unit"},
		{"sequences.speed", "0", "greater than 0"},
		{"sequences.speed", "-1", "greater than 0"},
		{"sequences.speed", ".inf", "greater than 0"},
		{"sequences.speed", "fast", "a number"},
		{"webhooks.allow_private_networks", "maybe", "true or false"},
		{"webhooks.timeout", "0s", "more than 0"},
		{"identity.shared_hosts", "[linkedin]", "\"linkedin\" is not a domain"},
		{"identity.shared_hosts", "['https://a.example']", "is not a domain"},
		{"identity.shared_hosts", "[1]", "must be a string"},
		{"identity.shared_hosts", "1", "must be strings"},
		{"webhooks.retry_schedule", "''", "durations with units"},
		{"webhooks.retry_schedule", "'5s,,5m'", "durations with units"},
		{"webhooks.retry_schedule", "5s;5m", "durations with units"},
		{"webhooks.retry_schedule", "5", "durations with units"},
		{"webhooks.retry_schedule", "[5s, 10]", "durations with units"},
		{"webhooks.retry_schedule", "[5s, [5m]]", "durations with units"},
		{"webhooks.retry_schedule", "5s,0s", "more than 0"},
		{"webhooks.retention", "0s", "more than 0"},
		{"webhooks.max_pending", "0", "at least 1"},
		{"webhooks.concurrency", "0", "at least 1"},
		{"tam.retention", "-1h", "more than 0"},
		{"trash.retention", "0s", "more than 0"},
		{"imports.retention", "0s", "more than 0"},
		{"tam.retention", "90 days", "a duration with a unit"},
		{"addr", "8080", "a string in quotes"},
	} {
		_, err := load(t, inFile(c.key, c.value))
		if err == nil || !strings.HasPrefix(err.Error(), "settings: "+c.key+" must ") || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "; ") {
			t.Errorf("%s: %s\nreports %v, want one problem that contains %q", c.key, c.value, err, c.says)
		}
	}
	for content, wants := range map[string][]string{
		"mail: {transport: smtp}":  {"mail.smtp.host must be set"},
		"tls: {key_file: key.pem}": {"tls.cert_file must be set if and only if tls.key_file is set"},
		"tls: on":                  {"tls is a group of settings, such as tls.cert_file"},
		"addr: ''\nlog: {level: loud}\nsequences: {speed: slow}": {"addr must", "log.level must", "sequences.speed must"},
		"mail: {smtp: {tls: tls, tsl: tls}}":                     {`unknown setting "mail.smtp.tsl"`},
		"colour:":                                                {`unknown setting "colour"`},
	} {
		_, err := load(t, content)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s\nreports %v, want %q", content, err, want)
			}
		}
	}
	if _, err := loadFile(t, "settings.yaml", "metrics_addr: 127.0.0.1:0", map[string]Flag{"addr": {"addr", "127.0.0.1:0"}}); err != nil {
		t.Errorf("two addresses with port 0 are refused as the same: %v", err)
	}
}
