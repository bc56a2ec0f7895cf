package cmd_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSettingsOrder checks that flags override the environment, which overrides the file, which
// overrides the defaults.
func TestSettingsOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		env  []string
		args []string
		made string
	}{
		{"default", nil, nil, "data"},
		{"file", nil, []string{"--config", "settings.yaml"}, "by-file"},
		{"environment over file", []string{"PROSPECTOR_DATA_DIR=by-environment"}, []string{"--config", "settings.yaml"}, "by-environment"},
		{"flag over all", []string{"PROSPECTOR_DATA_DIR=by-environment"}, []string{"--config", "settings.yaml", "--data-dir", "by-flag"}, "by-flag"},
		{"an empty variable is none", []string{"PROSPECTOR_DATA_DIR="}, []string{"--config", "settings.yaml"}, "by-file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, c.env...)
			p.write("settings.yaml", "data_dir: by-file\n")
			p.run(append([]string{"org", "create", "--name", "Acme"}, c.args...)...).ok()
			for _, dir := range []string{"data", "by-file", "by-environment", "by-flag"} {
				if _, err := os.Stat(p.path(dir, "prospector.db")); (err == nil) != (dir == c.made) {
					t.Errorf("%s: %v, want the store in %s", dir, err, c.made)
				}
			}
		})
	}
}

func TestServerSettings(t *testing.T) {
	t.Parallel()
	file := "addr: 127.0.0.1:99999\nrate_limit:\n  per_minute: 7\nlimits:\n  body_bytes: 100\nlog: {level: warn, format: json}\n"
	large := `{"email": "x@acme.example", "notes": "` + strings.Repeat("x", 100) + `"}`
	limit := func(s *server, key, want string) {
		s.t.Helper()
		if got := s.do(http.StatusOK, key, "GET", "/v1/me", "").header.Get("X-RateLimit-Limit"); got != want {
			s.t.Errorf("the limit is %q, want %q", got, want)
		}
	}
	t.Run("defaults", func(t *testing.T) {
		p := newPlace(t)
		s := p.serve()
		_, key := p.org("Acme")
		limit(s, key, "100")
		s.do(http.StatusCreated, key, "POST", "/v1/contacts", large)
		s.stop()
	})
	t.Run("file", func(t *testing.T) {
		p := newPlace(t)
		p.write("settings", file)                     // a file without an extension is YAML
		p.env = []string{"PROSPECTOR_LOG_LEVEL=info"} // the tests read the address from the log
		s := p.serve("--config", "settings")          // the flag overrides its invalid address
		_, key := p.org("Acme")
		limit(s, key, "7")
		s.do(http.StatusRequestEntityTooLarge, key, "POST", "/v1/contacts", large)
		s.stop()
		if log := s.stderr.String(); !strings.HasPrefix(log, "{") {
			t.Errorf("with log.format json the log is %s", log)
		}
	})
	t.Run("environment", func(t *testing.T) {
		p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=8", "PROSPECTOR_LIMITS_BODY_BYTES=1000", "PROSPECTOR_LOG_FORMAT=text",
			"PROSPECTOR_LOG_LEVEL=info", "PROSPECTOR_ADDR=127.0.0.1:99999")
		p.write("settings.yaml", file)
		s := p.serve("--config", "settings.yaml")
		_, key := p.org("Acme")
		limit(s, key, "8")
		s.do(http.StatusCreated, key, "POST", "/v1/contacts", large)
		s.stop()
		if log := s.stderr.String(); !strings.HasPrefix(log, "time=") {
			t.Errorf("with log.format text the log is %s", log)
		}
	})
	t.Run("address", func(t *testing.T) {
		p := newPlace(t, "PROSPECTOR_ADDR=127.0.0.1:0")
		p.write("settings.yaml", file)
		p.env = append(p.env, "PROSPECTOR_LOG_LEVEL=info")
		s := p.start("serve", "--config", "settings.yaml") // the environment overrides the file
		s.await(s.stderr, listening)
		s.stop()
	})
	t.Run("no rate limit", func(t *testing.T) {
		p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
		s := p.serve()
		_, key := p.org("Acme")
		limit(s, key, "")
		s.stop()
	})
	t.Run("log level", func(t *testing.T) {
		p := newPlace(t, "PROSPECTOR_LOG_LEVEL=error")
		s := p.start("demo", "--addr", "127.0.0.1:0", "--companies", "10", "--speed", "1") // prints on stdout that it listens
		s.await(s.stdout, demoGuide)
		s.stop()
		if log := demoProgress.ReplaceAllString(s.stderr.String(), ""); log != "" {
			t.Errorf("with log.level error an uneventful run logs %s", log)
		}
	})
}

func TestJSONLog(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_LOG_FORMAT=json", "PROSPECTOR_LOG_LEVEL=debug")
	s := p.serve()
	_, key := p.org("Acme")
	s.do(http.StatusOK, key, "GET", "/v1/me", "")
	s.stop()
	log := strings.TrimSuffix(s.stderr.String(), "\n")
	for line := range strings.Lines(log) {
		var entry struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time == "" || entry.Level == "" || entry.Msg == "" {
			t.Errorf("invalid line in a JSON log (%v): %s", err, line)
		}
	}
	for _, msg := range []string{"listening", "admin operation", "request", "shutting down", "stopped"} {
		if !strings.Contains(log, `"msg":"`+msg+`"`) {
			t.Errorf("the log has no %q: %s", msg, log)
		}
	}
}

// TestBadSettings checks that every command reports invalid settings by name.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, env string
		says            []string
	}{
		{name: "unknown key", file: "rate_limits: {per_minute: 5}", says: []string{"settings.yaml", `"rate_limits.per_minute"`}},
		{name: "unknown key in a group", file: "log: {colour: red}", says: []string{"settings.yaml", `"log.colour"`}},
		{name: "unknown key beside good ones", file: "addr: 127.0.0.1:0\nport: 8080", says: []string{"settings.yaml", `"port"`}},
		{name: "a value for a group", file: "rate_limit: 5", says: []string{"settings.yaml", "rate_limit"}},
		{name: "no YAML", file: "log: [", says: []string{"settings.yaml"}},
		{name: "no mapping", file: "just words", says: []string{"settings.yaml"}},
		{name: "rate limit", file: "rate_limit: {per_minute: many}", says: []string{"rate_limit.per_minute"}},
		{name: "negative rate limit", file: "rate_limit: {per_minute: -1}", says: []string{"rate_limit.per_minute"}},
		{name: "body bytes", file: "limits: {body_bytes: 0}", says: []string{"limits.body_bytes"}},
		{name: "address of another type", file: "addr: [1, 2]", says: []string{"addr"}},
		{name: "empty address", file: `addr: ""`, says: []string{"addr"}},
		{name: "log format", file: "log: {format: xml}", says: []string{"log.format", `"xml"`}},
		{name: "log level", file: "log: {level: loud}", says: []string{"log.level", `"loud"`}},
		{name: "rate limit of the environment", env: "PROSPECTOR_RATE_LIMIT_PER_MINUTE=many", says: []string{"rate_limit.per_minute"}},
		{name: "body bytes of the environment", env: "PROSPECTOR_LIMITS_BODY_BYTES=-5", says: []string{"limits.body_bytes"}},
		{name: "a duration without its unit", file: "webhooks: {timeout: 15}", says: []string{"webhooks.timeout", "with a unit"}},
		{name: "a duration of the environment", env: "PROSPECTOR_TAM_RETENTION=90d", says: []string{"tam.retention", `"90d"`}},
		{name: "durations of the environment", env: "PROSPECTOR_WEBHOOKS_RETRY_SCHEDULE=5s,5x", says: []string{"webhooks.retry_schedule", `"5x"`}},
		{name: "a number of the environment", env: "PROSPECTOR_SEQUENCES_SPEED=0", says: []string{"sequences.speed", "greater than 0"}},
		{name: "true or false of the environment", env: "PROSPECTOR_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=perhaps", says: []string{"webhooks.allow_private_networks"}},
		{name: "a URL of the environment", env: "PROSPECTOR_PUBLIC_URL=crm.example.com", says: []string{"public_url", "https://"}},
		{name: "smtp without a host", file: "mail: {transport: smtp}", says: []string{"mail.smtp.host"}},
		{name: "a password that is no text", file: "mail: {smtp: {password: [1, 2]}}", says: []string{"mail.smtp.password", "quotes"}},
		{name: "half of https", env: "PROSPECTOR_TLS_KEY_FILE=key.pem", says: []string{"tls.cert_file", "tls.key_file"}},
		{name: "metrics at the address of the API", file: "metrics_addr: 127.0.0.1:8080", says: []string{"metrics_addr"}},
		{name: "log level of the environment", env: "PROSPECTOR_LOG_LEVEL=loud", says: []string{"log.level", `"loud"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			if c.env != "" {
				p.env = []string{c.env}
			}
			p.write("settings.yaml", c.file)
			for _, line := range []string{"serve", "demo", "org create --name Acme"} {
				p.run(append(strings.Fields(line), "--config", "settings.yaml")...).fails(1, c.says...)
			}
			if _, err := os.Stat(p.path("data")); err == nil {
				t.Error("a command with invalid settings created a store")
			}
		})
	}
	t.Run("half a request a minute", func(t *testing.T) {
		p := newPlace(t)
		p.write("settings.yaml", "rate_limit: {per_minute: 1.5}")
		p.run("org", "create", "--name", "Acme", "--config", "settings.yaml").fails(1, "rate_limit.per_minute")
		p.write("settings.yaml", "rate_limit: {per_minute: true}")
		p.run("org", "create", "--name", "Acme", "--config", "settings.yaml").fails(1, "rate_limit.per_minute")
	})
	t.Run("flags", func(t *testing.T) {
		p := newPlace(t)
		p.run("demo", "--speed", "0").fails(2, "--speed", "greater than 0")
		p.run("demo", "--speed", "fast").fails(2, "--speed", "a number")
		p.run("serve", "--addr", "").fails(2, "--addr", "empty")
		p.run("serve", "--speed", "2").fails(2, "--speed")
	})
	t.Run("no such file", func(t *testing.T) {
		p := newPlace(t)
		p.run("serve", "--config", "nowhere.yaml").fails(1, "nowhere.yaml")
		p.run("org", "list", "--config", ".").fails(1, "settings file .")
	})
}

// demoProgress matches what the demo prints while it generates its market. It is not part of the log.
var demoProgress = regexp.MustCompile(`Generating a market of \d+ companies:\n|\d+ of \d+ records\n`)

// TestUnknownSettingsWarning checks that only the server warns about unknown variables, once and
// without their values, and that unusual settings such as the demo's speed cause no warning.
func TestUnknownSettingsWarning(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_MAIL_SMTP_PASSWORD=hunter2", "PROSPECTOR_RATELIMIT=hunter2", "PROSPECTOR_LOG_LEVEL=debug")
	p.write("settings.yaml", "public_url: https://acme.example\nmail: {transport: smtp, smtp: {host: 127.0.0.1}}\nsequences: {speed: 2}\n")
	s := p.serve("--config", "settings.yaml")
	p.run("org", "create", "--name", "Acme", "--config", "settings.yaml").ok()
	s.stop()
	log := s.stderr.String()
	if strings.Count(log, "level=WARN") != 1 || strings.Contains(log, "hunter2") || !strings.Contains(log, "variables=PROSPECTOR_RATELIMIT") {
		t.Errorf("want one warning without values: %s", log)
	}

	d := newPlace(t).start("demo", "--addr", "127.0.0.1:0", "--companies", "10")
	d.await(d.stdout, demoGuide)
	d.stop()
	if log := demoProgress.ReplaceAllString(d.stderr.String(), ""); log != "" {
		t.Errorf("the demo logs: %s", log)
	}
}
