package service

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"prospector/internal/address"
	"prospector/internal/identity"
)

// Config is the checked settings of the service. config.example.yaml documents them.
type Config struct {
	Addr      string `key:"addr"`
	DataDir   string `key:"data_dir"`
	PublicURL string `key:"public_url"`
	TLS       struct {
		CertFile string `key:"cert_file"`
		KeyFile  string `key:"key_file"`
	} `key:"tls"`
	MetricsAddr string `key:"metrics_addr"`
	// TrustedProxies are the addresses and networks whose X-Forwarded-For is believed.
	TrustedProxies []string `key:"trusted_proxies"`
	Sessions       struct {
		Idle     time.Duration `key:"idle"`
		Lifetime time.Duration `key:"lifetime"`
		Invite   time.Duration `key:"invite"`
	} `key:"sessions"`
	Log struct {
		Level  string `key:"level"`
		Format string `key:"format"`
	} `key:"log"`
	RateLimit struct {
		PerMinute int `key:"per_minute"`
	} `key:"rate_limit"`
	Limits struct {
		BodyBytes int64 `key:"body_bytes"`
		// ImportBytes is the maximum size of a file that is imported over HTTP.
		ImportBytes int64 `key:"import_bytes"`
		ParseBytes  int64 `key:"parse_bytes"`
		// ConcurrentRequests is how many requests of an organization may be in progress. 0 means no limit.
		ConcurrentRequests int `key:"concurrent_requests"`
		// ListTime is how long a list may take. 0 means no limit.
		ListTime time.Duration `key:"list_time"`
		// ShutdownTime is how long the service may take to stop.
		ShutdownTime time.Duration `key:"shutdown_time"`
	} `key:"limits"`
	Index struct {
		CacheBytes int `key:"cache_bytes"`
	} `key:"index"`
	Store struct {
		Scrub bool `key:"scrub"`
	} `key:"store"`
	Identity struct {
		SharedHosts []string `key:"shared_hosts"`
	} `key:"identity"`
	Research struct {
		Provider    string        `key:"provider"`
		BaseURL     string        `key:"base_url"`
		Model       string        `key:"model"`
		APIKeyEnv   string        `key:"api_key_env"`
		Concurrency int           `key:"concurrency"`
		Timeout     time.Duration `key:"timeout"`
		UnitRate    float64       `key:"unit_rate"`
	} `key:"research"`
	Mail struct {
		Transport string `key:"transport"`
		SMTP      struct {
			Host     string `key:"host"`
			Port     int    `key:"port"`
			Username string `key:"username"`
			Password Secret `key:"password"`
			TLS      string `key:"tls"`
		} `key:"smtp"`
		DailyCap int           `key:"daily_cap"`
		MinGap   time.Duration `key:"min_gap"`
		// RecipientGap is the least time between two emails to an address from different campaigns.
		RecipientGap time.Duration `key:"recipient_gap"`
	} `key:"mail"`
	Sequences struct {
		Speed float64 `key:"speed"`
	} `key:"sequences"`
	Webhooks struct {
		AllowPrivateNetworks bool            `key:"allow_private_networks"`
		Timeout              time.Duration   `key:"timeout"`
		RetrySchedule        []time.Duration `key:"retry_schedule"`
		Retention            time.Duration   `key:"retention"`
		MaxPending           int             `key:"max_pending"`
		Concurrency          int             `key:"concurrency"`
	} `key:"webhooks"`
	TAM struct {
		Retention time.Duration `key:"retention"`
	} `key:"tam"`
	Trash struct {
		Retention time.Duration `key:"retention"`
	} `key:"trash"`
	Imports struct {
		Retention time.Duration `key:"retention"`
	} `key:"imports"`
}

// Defaults returns the settings that are in effect when nothing is set.
func Defaults() Config {
	c := Config{Addr: "127.0.0.1:8080", DataDir: "./data"}
	times := identity.DefaultSessionTimes
	c.Sessions.Idle, c.Sessions.Lifetime, c.Sessions.Invite = times.Idle, times.Lifetime, times.Invite
	c.TrustedProxies = []string{}
	c.Log.Level, c.Log.Format = "info", "text"
	c.RateLimit.PerMinute = 100
	c.Limits.BodyBytes, c.Limits.ImportBytes, c.Limits.ParseBytes = 8<<20, 1<<30, 256<<20
	c.Limits.ConcurrentRequests = 32
	c.Limits.ListTime, c.Limits.ShutdownTime = 10*time.Second, 20*time.Second
	c.Index.CacheBytes = 256 << 20
	c.Store.Scrub = true
	c.Identity.SharedHosts = []string{}

	c.Research.Provider, c.Research.APIKeyEnv = catalogProvider, "OPENAI_API_KEY"
	c.Research.Concurrency, c.Research.Timeout, c.Research.UnitRate = 8, 30*time.Second, 1

	c.Mail.Transport, c.Mail.DailyCap, c.Mail.MinGap = "outbox", 200, 30*time.Second
	c.Mail.RecipientGap = 12 * time.Hour
	c.Mail.SMTP.Port, c.Mail.SMTP.TLS = 587, "starttls"
	c.Sequences.Speed = 1

	w := &c.Webhooks
	w.Timeout = 15 * time.Second
	w.RetrySchedule = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute,
		2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour}
	w.Retention, w.MaxPending, w.Concurrency = 30*24*time.Hour, 100_000, 64
	c.TAM.Retention, c.Trash.Retention, c.Imports.Retention = 90*24*time.Hour, 30*24*time.Hour, 30*24*time.Hour
	return c
}

// fields returns a pointer to every setting of c, by key.
func (c *Config) fields() map[string]any {
	all := map[string]any{}
	var walk func(group reflect.Value, prefix string)
	walk = func(group reflect.Value, prefix string) {
		for field, v := range group.Fields() {
			key := prefix + field.Tag.Get("key")
			if v.Kind() == reflect.Struct {
				walk(v, key+".")
				continue
			}
			all[key] = v.Addr().Interface()
		}
	}
	walk(reflect.ValueOf(c).Elem(), "")
	return all
}

// invalid is an invalid setting. The key is empty if the problem is not about one setting.
type invalid struct{ key, problem string }

// check returns all invalid settings. It shows no value that may contain a secret.
func (c *Config) check() (found []invalid) {
	must := func(ok bool, key, format string, args ...any) {
		if !ok {
			found = append(found, invalid{key, "must " + fmt.Sprintf(format, args...)})
		}
	}
	oneOf := func(v, key string, allowed ...string) {
		last := len(allowed) - 1
		must(slices.Contains(allowed, v), key, "be %s or %s, not %q", strings.Join(allowed[:last], ", "), allowed[last], v)
	}
	atLeast := func(n, least int64, key string) { must(n >= least, key, "be at least %d, not %d", least, n) }
	baseURL := func(v, key, such string) {
		must(v == "" || isBaseURL(v), key, "be empty or an http or https URL such as %s, without user, query or fragment", such)
	}
	positive := func(d time.Duration, key string) { must(d > 0, key, "be more than 0, such as 30s, not %v", d) }

	must(c.Addr != "", "addr", "not be empty")
	_, _, wrong := net.SplitHostPort(c.Addr)
	must(c.Addr == "" || wrong == nil, "addr", "be host:port, such as 127.0.0.1:8080, not %q", c.Addr)
	must(c.DataDir != "", "data_dir", "not be empty")
	baseURL(c.PublicURL, "public_url", "https://crm.example.com")
	must((c.TLS.CertFile == "") == (c.TLS.KeyFile == ""), "tls.cert_file", "be set if and only if tls.key_file is set")
	if c.MetricsAddr != "" {
		must(isAddress(c.MetricsAddr), "metrics_addr", "be empty or host:port, such as 127.0.0.1:9090, not %q", c.MetricsAddr)
		anyPort := strings.HasSuffix(c.Addr, ":0")
		must(c.MetricsAddr != c.Addr || anyPort, "metrics_addr", "be a different address than addr, or empty to serve metrics there")
	}

	for _, p := range c.TrustedProxies {
		_, err := parseNetwork(p)
		must(err == nil, "trusted_proxies", "be addresses or networks such as 10.0.0.0/8, not %q", p)
	}
	positive(c.Sessions.Idle, "sessions.idle")
	positive(c.Sessions.Lifetime, "sessions.lifetime")
	positive(c.Sessions.Invite, "sessions.invite")

	_, err := c.logLevel()
	must(err == nil, "log.level", "be debug, info, warn or error, not %q", c.Log.Level)
	oneOf(c.Log.Format, "log.format", "text", "json")
	atLeast(int64(c.RateLimit.PerMinute), 0, "rate_limit.per_minute")
	atLeast(c.Limits.BodyBytes, 1, "limits.body_bytes")
	atLeast(c.Limits.ImportBytes, 1, "limits.import_bytes")
	atLeast(c.Limits.ParseBytes, 0, "limits.parse_bytes")
	atLeast(int64(c.Limits.ConcurrentRequests), 0, "limits.concurrent_requests")
	must(c.Limits.ListTime >= 0, "limits.list_time", "be at least 0, not %v", c.Limits.ListTime)
	positive(c.Limits.ShutdownTime, "limits.shutdown_time")
	atLeast(int64(c.Index.CacheBytes), 0, "index.cache_bytes")

	_, err = address.NewHosts(c.Identity.SharedHosts)
	must(err == nil, "identity.shared_hosts", "be domains such as linkedin.com or names such as amazon.*: %v", err)

	r := c.Research
	oneOf(r.Provider, "research.provider", catalogProvider, openAIProvider)
	baseURL(r.BaseURL, "research.base_url", "https://api.openai.com/v1")
	must(r.APIKeyEnv == "" || variableName.MatchString(r.APIKeyEnv), "research.api_key_env",
		"be the name of an environment variable, such as OPENAI_API_KEY, not the key itself")
	atLeast(int64(r.Concurrency), 1, "research.concurrency")
	positive(r.Timeout, "research.timeout")
	must(r.UnitRate >= 0 && r.UnitRate <= maxUnitRate, "research.unit_rate", "be between 0 and 1000000, not %v", r.UnitRate)

	m := c.Mail
	oneOf(m.Transport, "mail.transport", "outbox", "smtp")
	must(m.Transport != "smtp" || m.SMTP.Host != "", "mail.smtp.host", "be set when mail.transport is smtp")
	must(m.SMTP.Port >= 1 && m.SMTP.Port <= 65535, "mail.smtp.port", "be between 1 and 65535, not %d", m.SMTP.Port)
	oneOf(m.SMTP.TLS, "mail.smtp.tls", "starttls", "tls", "none")
	atLeast(int64(m.DailyCap), 0, "mail.daily_cap")
	must(m.MinGap >= 0, "mail.min_gap", "be at least 0, not %v", m.MinGap)
	must(m.RecipientGap >= 0, "mail.recipient_gap", "be at least 0, not %v", m.RecipientGap)
	speed := c.Sequences.Speed
	must(speed > 0 && !math.IsInf(speed, 0), "sequences.speed", "be greater than 0, not %v", speed)

	w := c.Webhooks
	positive(w.Timeout, "webhooks.timeout")
	for _, d := range w.RetrySchedule {
		must(d > 0, "webhooks.retry_schedule", "contain only durations of more than 0, not %v", d)
	}
	positive(w.Retention, "webhooks.retention")
	atLeast(int64(w.MaxPending), 1, "webhooks.max_pending")
	atLeast(int64(w.Concurrency), 1, "webhooks.concurrency")
	positive(c.TAM.Retention, "tam.retention")
	positive(c.Trash.Retention, "trash.retention")
	positive(c.Imports.Retention, "imports.retention")
	return found
}

// parseNetwork parses a network, or the address of one machine.
func parseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Unmap().Prefix(addr.Unmap().BitLen())
	}
	return netip.ParsePrefix(s)
}

// trustedProxies returns the networks of trusted_proxies.
func (c *Config) trustedProxies() (networks []netip.Prefix) {
	for _, s := range c.TrustedProxies {
		if p, err := parseNetwork(s); err == nil { // Load has checked it
			networks = append(networks, p)
		}
	}
	return networks
}

// maxUnitRate keeps the cost of many answers exactly representable.
const maxUnitRate = 1_000_000

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// isBaseURL reports whether paths can be appended to an http or https URL.
func isBaseURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && !strings.ContainsAny(s, "?#")
}

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil || port == "" {
		return false
	}
	_, err = net.LookupPort("tcp", port)
	return err == nil
}

func (c *Config) logLevel() (level slog.Level, err error) {
	err = level.UnmarshalText([]byte(c.Log.Level))
	return level, err
}

// Logger returns a logger that writes to stderr with the level and format of the settings.
func (c *Config) Logger() *slog.Logger {
	level, _ := c.logLevel() // Load has checked it
	return slog.New(NewLogHandler(os.Stderr, c.Log.Format, level))
}

// Secret is a string that is never shown when it, or anything that contains it, is printed or logged.
type Secret string

const hidden = "(secret)"

// Format prints a placeholder.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText returns a placeholder.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
