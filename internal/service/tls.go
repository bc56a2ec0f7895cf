package service

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// recheckInterval is how often the files of the certificate are read at most.
const recheckInterval = 2 * time.Second

// certificate is the certificate of the server. Renewed files are loaded without a restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	pair    pemPair   // the files that current was loaded from
	checked time.Time // when the files were last read
	failure string    // why the files could not be loaded the last time
}

// pemPair is the content of the two files.
type pemPair struct{ cert, key []byte }

// loadCertificate loads the certificate of the settings. It returns nil if TLS is not configured.
func loadCertificate(cfg Config, log *slog.Logger) (*certificate, error) {
	if cfg.TLS.CertFile == "" {
		return nil, nil
	}
	c := &certificate{certFile: cfg.TLS.CertFile, keyFile: cfg.TLS.KeyFile, log: log}
	_, err := c.read()
	return c, err
}

// config returns the TLS settings of the server, which offer HTTP/2. It is nil without a certificate.
func (c *certificate) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: c.get,
	}
}

// get returns the current certificate for a connection.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= recheckInterval {
		c.checked = now
		c.renew()
	}
	return c.current, nil
}

// renew loads the files if they changed. A failure is logged once, and the previous certificate stays
// in use, because the two files are not replaced at the same time.
func (c *certificate) renew() {
	changed, err := c.read()
	switch {
	case err == nil && changed:
		c.failure = ""
		c.log.Info("certificate renewed", "expires", c.current.Leaf.NotAfter)
	case err == nil:
		c.failure = ""
	case c.failure != err.Error():
		c.failure = err.Error()
		c.log.Error("the certificate cannot be renewed; until the certificate and key match, the previous pair stays in use", "error", err)
	}
}

// read loads the files unless they are unchanged.
func (c *certificate) read() (changed bool, err error) {
	var pair pemPair
	if pair.cert, err = os.ReadFile(c.certFile); err != nil {
		return false, fmt.Errorf("tls.cert_file: %w", err)
	}
	if pair.key, err = os.ReadFile(c.keyFile); err != nil {
		return false, fmt.Errorf("tls.key_file: %w", err)
	}
	if bytes.Equal(pair.cert, c.pair.cert) && bytes.Equal(pair.key, c.pair.key) && c.current != nil {
		return false, nil
	}
	made, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return false, fmt.Errorf("tls.cert_file %s with tls.key_file %s: %w", c.certFile, c.keyFile, err)
	}
	if now := time.Now(); now.After(made.Leaf.NotAfter) || now.Before(made.Leaf.NotBefore) {
		c.log.Warn("the certificate in tls.cert_file is not valid now, clients will reject it",
			"file", c.certFile, "valid_from", made.Leaf.NotBefore, "expires", made.Leaf.NotAfter)
	}
	c.current, c.pair = &made, pair
	return true, nil
}
