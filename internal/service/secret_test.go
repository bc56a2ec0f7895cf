package service

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestSecretsStayHidden checks that no error message contains a password, whatever is wrong with it
// or near it.
func TestSecretsStayHidden(t *testing.T) {
	withoutVariables(t)
	const password = "hunter2"
	for _, content := range []string{
		"mail: {smtp: {password: [hunter2]}}",
		"mail: {smtp: {password: {hunter2: x}}}",
		"mail: {smtp: {password: {x: hunter2}}}",
		"mail: {smtp: {password: {1: hunter2}}}",
		"mail: {smtp: {password: *hunter2}}",
		"mail: {smtp: {password: !!int hunter2}}",
		"mail: {smtp: {password: !!float 'hunter2'}}",
		"mail: {smtp: {password: {{ hunter2 }}}}",
		"mail: {smtp: {password: {[hunter2]: 1}}}",
		"mail: {smtp: {password: @hunter2}}",
		"mail: {smtp: {password: \"hunter2}}",
		"mail: {smtp: {password: hunter2\nport: 5",
		"mail:\n  smtp:\n    password: hunter2: x",
		"mail:\n  smtp:\n    password: hunter2\n    password: hunter2",
		"mail: {smtp: hunter2}",
		"mail: hunter2",
		"hunter2",
		"- hunter2",
		"mail: {smtp: {password: hunter2, port: 0}}",
		"mail: {transport: smtp, smtp: {password: hunter2}}",
		"research: {base_url: 'https://ada:hunter2@api.example/v1'}",
		"research: {base_url: 'https://ada:hunter2@api.example:port/v1'}",
		"public_url: 'https://ada:hunter2@crm.example'",
		"research: {api_key_env: sk-hunter2}",
	} {
		_, err := load(t, content)
		if err == nil {
			t.Errorf("%s\nis accepted", content)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("%s\nreports %v", content, err)
		}
	}
	for _, content := range []string{"0123", "true", "1e3", "2024-01-02"} { // YAML reads these as another type
		if _, err := load(t, inFile("mail.smtp.password", content)); err == nil || !strings.Contains(err.Error(), "mail.smtp.password must be a string in quotes") || strings.Contains(err.Error(), content) {
			t.Errorf("%s: %v", content, err)
		}
	}

	cfg, err := load(t, "mail: {smtp: {password: hunter2}}")
	if err != nil || string(cfg.Mail.SMTP.Password) != password {
		t.Fatalf("%v %q", err, string(cfg.Mail.SMTP.Password))
	}
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		fmt.Fprintf(&shown, verb, cfg)
		fmt.Fprintf(&shown, verb, &cfg)
		fmt.Fprintf(&shown, verb, cfg.Mail.SMTP.Password)
	}
	for _, log := range []slog.Handler{slog.NewTextHandler(&shown, nil), slog.NewJSONHandler(&shown, nil)} {
		slog.New(log).Info("settings", "config", cfg, "mail", cfg.Mail, "password", cfg.Mail.SMTP.Password)
	}
	if strings.Contains(shown.String(), password) || strings.Contains(shown.String(), fmt.Sprintf("%x", password)) {
		t.Errorf("the password is shown: %s", &shown)
	}
}

// TestSettingsWithoutEffect checks that settings without effect, and incomplete ones, are reported
// by name, and that effective ones are not.
func TestSettingsWithoutEffect(t *testing.T) {
	withoutVariables(t)
	warnings := func(content string, environ ...string) string {
		t.Helper()
		cfg, err := load(t, content)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		cfg.warn(slog.New(slog.NewTextHandler(&b, nil)), environ)
		return b.String()
	}
	changed := "addr: 127.0.0.1:1\nrate_limit: {per_minute: 7}\npublic_url: https://crm.example\nsequences: {speed: 2}\ntam: {retention: 1h}\n" +
		"mail: {transport: smtp, smtp: {host: mail.example, password: hunter2, port: 25}, daily_cap: 5, min_gap: 1s}\n" +
		"research: {model: small, unit_rate: 2, concurrency: 3}\n" +
		"webhooks: {allow_private_networks: true, timeout: 1s, retry_schedule: [], retention: 1h, max_pending: 1, concurrency: 1}\n"
	if got := warnings(changed, "PATH=/bin", "PROSPECTOR_ADDR=127.0.0.1:1", "PROSPECTOR_MAIL_SMTP_TLS=none", "PROSPECTOR_EMPTY="); got != "" {
		t.Errorf("every setting has an effect, but got: %s", got)
	}
	for content, key := range map[string]string{"research: {provider: openai}": "research.base_url", "research: {provider: openai, base_url: 'http://127.0.0.1:1/v1'}": "research.model"} {
		if got := warnings(content); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "research is disabled") || !strings.Contains(got, "setting="+key) {
			t.Errorf("%s reports %s", content, got)
		}
	}
	got := warnings("", "PROSPECTOR_RATE_LIMIT=5", "PROSPECTOR_PORT=hunter2", "PROSPECTOR_LOG_LEVEL=info")
	if strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, `variables="PROSPECTOR_PORT, PROSPECTOR_RATE_LIMIT"`) || strings.Contains(got, "hunter2") {
		t.Errorf("got %s", got)
	}
}
